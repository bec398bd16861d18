"""Random ε that are promised beside traces of schemes: what cohort laws are said to keep, plans, budgets of
schemes that somebody has built on ours. Each with the δ that some neighbours have at that ε.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from fedpriv.account import Deltas, epsilon, ledger, spends
from fedpriv.config.run import multiplier
from fedpriv.errors import BadInput
from fedpriv.mechanisms.correlated import MATRICES, Matrix, Turns
from fedpriv.mechanisms.gaussian import gaussian_mean
from fedpriv.mechanisms.sampling import CohortLaw, Fixed, Full, Poisson, Spaced
from fedpriv.schemes import ClientDP, Scheme
from fedpriv.schemes.exchange import Hooks
from fedpriv.trace import Mechanism
from support.one_number import trace_of
from support.small_federation import Federation, Outcomes, delta_of_rounds, merged, subsets


class Promise(NamedTuple):
    """An ε that somebody is told to be a guarantee, and what it is held against."""

    words: str
    epsilon: float
    delta: float
    found: float  # the δ of some neighbours at that ε


def gaussian(distance: float, epsilon: float) -> float:
    """Return the δ of two Gaussians of equal covariance, so many standard deviations apart."""
    if distance == 0:
        return 0.0
    behind = norm.logcdf(-distance / 2 - epsilon / distance)
    return float(norm.cdf(distance / 2 - epsilon / distance) - np.exp(epsilon + behind))


# --- clients who are said to come seldom -------------------------------------------------------------------


def in_turn(population: int, size: int, rounds: int) -> np.ndarray:
    """Return in which rounds each client comes, bool `[population, rounds]`, whose turns are `spaced`."""
    places = (np.arange(rounds)[:, None] * size + np.arange(size)) % population
    return np.array([(places == one).any(axis=1) for one in range(population)])


def moved(matrix: Matrix | None, came: np.ndarray, noise: float) -> np.ndarray:
    """Return what a client who comes in these rounds `[..., T]` moves the release by, over the noise."""
    encoder = np.eye(came.shape[-1]) if matrix is None else matrix.encoder(came.shape[-1])
    return came @ encoder.T / noise


def of_law(law: CohortLaw, population: int, matrix: Matrix, rounds: int, noise: float, told: float) -> float:
    """Return the δ at ε `told` of a client that is there or zeroed out, by what cohorts of a law really do.

    Of those that are sampled, the release is looked at in one direction: all else that is seen adds to it.
    """
    if isinstance(law, Spaced):
        came = in_turn(population, law.size, rounds)
        return max(gaussian(one, told) for one in np.linalg.norm(moved(matrix, came, noise), axis=1))
    rate = law.expected(population) / population
    patterns = subsets(rounds)
    always = moved(matrix, np.ones(rounds), noise)
    places = moved(matrix, patterns, noise) @ always / np.linalg.norm(always)
    chances = rate ** patterns.sum(axis=1) * (1 - rate) ** (~patterns).sum(axis=1)
    there = merged(Outcomes(chances, np.zeros(len(places)), places, np.ones(len(places))))
    nobody = Outcomes(np.ones(1), np.zeros(1), np.zeros(1), np.ones(1))
    return float(delta_of_rounds([(there, nobody)], np.array([told]))[0])


def law_and_sides(rng: np.random.Generator, delta: float) -> Iterator[Promise]:
    """Yield what a trace is promised that says how seldom a client comes, whatever its cohorts do."""
    population, rounds = int(rng.integers(2, 9)), int(rng.integers(1, 5))
    size = int(rng.integers(1, population + 1))
    laws = Poisson(rate=float(rng.choice([0.6, 0.95]))), Full(), Fixed(size=size), Spaced(size=size)
    law, noise = laws[rng.integers(4)], float(rng.choice([1.0, 3.0]))
    most = law.facts(population, rounds) or {"participations": 0, "rounds_apart": 1}
    sides = {"participations": int(rng.integers(1, 3)), "rounds_apart": int(rng.integers(1, rounds + 2))}
    sides = most | {name: value for name, value in sides.items() if rng.random() < 0.4}
    turns = Turns(rounds, most["participations"] or rounds, most["rounds_apart"])
    name = str(rng.choice(list(MATRICES)))
    matrix = MATRICES[name].planned(turns, 0)
    came = round(law.expected(population))
    rate = law.expected(population) / population
    columns = {"unit": "client", "sampling_law": law.law, "sampling_rate": rate}
    columns |= {"population": population, "cohort_size": came, "noise_multiplier": noise, **sides}
    trace = pd.DataFrame(
        {"mechanism": "correlated_gaussian", **columns, **matrix.facts()}, index=range(rounds)
    )
    for one in spends(ledger(trace, delta)):
        if one.status == "guarantee" and one.sensitivity == "C":
            found = of_law(law, population, matrix, rounds, noise, one.epsilon)
            yield Promise(f"{law} of {population}, {matrix}, {sides}: {one}", one.epsilon, delta, found)


def planned_turns(rng: np.random.Generator, delta: float) -> Iterator[Promise]:
    """Yield what a plan of clients in turn is promised that is told how seldom a client comes."""
    population, rounds = int(rng.integers(2, 9)), int(rng.integers(1, 13))
    size, noise = int(rng.integers(1, population + 1)), float(rng.choice([1.0, 3.0]))
    apart = int(rng.integers(1, rounds + 2))
    sides = {"participations": int(rng.integers(1, rounds + 1)), "rounds_apart": apart}
    sides = {name: value for name, value in sides.items() if rng.random() < 0.5}
    told = {"matrix": str(rng.choice(["tree", "banded"])), **sides}
    if rng.random() < 0.2:
        told["numbers"] = "0.5:0.5"
    rate = size / population
    plan = {"sampling_rate": rate, "noise_multiplier": noise, "rounds": rounds, "delta": delta}
    one = epsilon(**plan, accountant="matrix", **told)
    came = in_turn(population, size, rounds)
    turns = Turns(
        rounds, sides.get("participations", came.sum(axis=1).max()), sides.get("rounds_apart", int(1 / rate))
    )
    matrix = MATRICES[told["matrix"]].planned(turns, 0)
    found = max(gaussian(far, one.epsilon) for far in np.linalg.norm(moved(matrix, came, noise), axis=1))
    yield Promise(f"plan of {size} in {population}, {told}: {one}", one.epsilon, delta, found)


# --- schemes that somebody has built on ours ---------------------------------------------------------------


class Silent(ClientDP):
    """No noise at all."""

    name: Literal["silent"] = "silent"

    def combine(self, bounded, context):
        return bounded.updates.sum(0) / context.expected, {}


class Less(ClientDP):
    """Half of the noise, and says so in every round."""

    mechanism: ClassVar[Mechanism] = "gaussian"
    name: Literal["less"] = "less"

    def combine(self, bounded, context):
        return gaussian_mean(bounded, self.noise_multiplier / 2, context.expected, context.noise("noise"))


class Mixin:
    """No scheme by itself: what it overrides stands in no class of ours."""

    def combine(self, bounded, context):
        return gaussian_mean(bounded, self.noise_multiplier / 2, context.expected, context.noise("noise"))


class Mixed(Mixin, ClientDP):
    """Half of the noise, and declares nothing."""

    name: Literal["mixed"] = "mixed"


class Named(ClientDP):
    """As ours, under another name."""

    name: Literal["named"] = "named"


NOISE = {Silent: 0.0, Less: 0.5, Mixed: 0.5, Named: 1.0, ClientDP: 1.0}  # that is added, of what is asked for


def federation(scheme: Scheme, hooks: Hooks, law: CohortLaw, population: int) -> Federation:
    run = Federation(population, law.law, getattr(law, "rate", 0.0), 0)
    return run._replace(
        server_std=NOISE[type(scheme)] * scheme.noise_multiplier, client_std=hooks.upload_noise_std
    )


def told_apart(run: Federation, rounds: int, epsilons: np.ndarray) -> np.ndarray:
    """Return the δ at every ε of a client that sends the bound, or is not there."""
    if not run.server_std and not run.client_std:
        return np.ones(len(epsilons))
    pairs = [
        (run.round(np.append(1.0, others)), run.round(np.append(np.nan, others)))
        for others in (np.full(run.clients - 1, -1.0), np.zeros(run.clients - 1))
    ]
    return np.max([delta_of_rounds([pair] * rounds, epsilons) for pair in pairs], axis=0)


def built_on_ours(rng: np.random.Generator, delta: float) -> Iterator[Promise]:
    """Yield what a class that inherits from ours is promised: by a budget before a run, and by its ledger."""
    kind = list(NOISE)[rng.integers(len(NOISE))]
    law = (Poisson(rate=float(rng.choice([0.3, 0.8]))), Full())[rng.integers(2)]
    population, rounds = int(rng.integers(1, 7)), int(rng.integers(1, 3))
    hooks = Hooks(upload_noise_std=float(rng.choice([0.0, 0.0, 1e-3, 1.0])))
    clear, wanted = bool(rng.random() < 0.2), float(rng.choice([0.5, 3.0]))
    words = f"{kind.__name__}, {law} of {population}, {rounds} rounds, {hooks}, clear {clear}"
    asked = SimpleNamespace(
        scheme=kind(clip_l2=1.0, noise_multiplier=1.0),
        cohort=law,
        partition=SimpleNamespace(clients=population),
        rounds=rounds,
        hooks=hooks,
        model=SimpleNamespace(sends_in_clear=clear),
        account=Deltas(delta=delta, instance_delta=delta),
    )
    try:
        noise = multiplier(asked, {"epsilon": wanted, "accountant": str(rng.choice(["rdp", "moments"]))})
    except BadInput:
        noise = 1.0
    else:
        run = federation(kind(clip_l2=1.0, noise_multiplier=noise), hooks, law, population)
        found = 1.0 if clear else float(told_apart(run, rounds, np.array([wanted]))[0])
        yield Promise(f"{words}: a budget of ε = {wanted}", wanted, delta, found)
    scheme = kind(clip_l2=1.0, noise_multiplier=noise)
    trace = trace_of(scheme, hooks, law, population, rounds, rng).assign(clear_values=int(clear))
    for one in spends(ledger(trace, Deltas(delta=delta, instance_delta=delta))):
        if (one.status, one.relation, one.accounting) == (
            "guarantee",
            "add_remove",
            "",
        ) and one.epsilon < 300:
            found = told_apart(federation(scheme, hooks, law, population), rounds, np.array([one.epsilon]))
            yield Promise(f"{words}: {one}", one.epsilon, delta, 1.0 if clear else float(found[0]))


KINDS: dict[str, Callable[[np.random.Generator, float], Iterator[Promise]]] = {
    one.__name__: one for one in (law_and_sides, planned_turns, built_on_ours)
}


def promises(kind: str, rng: np.random.Generator) -> list[Promise]:
    """Return what a random setting is promised; of one that is refused nothing is."""
    found: list[Promise] = []
    with suppress(BadInput):
        found.extend(KINDS[kind](rng, float(rng.choice([1e-2, 1e-5]))))
    return found
