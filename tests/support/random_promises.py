"""Random ε that are promised beside traces of schemes: budgets of schemes that somebody has built on ours.

Each with the δ that some neighbours have at that ε.
"""

from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from fedpriv.account import Deltas, ledger, statements
from fedpriv.config.run import multiplier
from fedpriv.errors import BadInput
from fedpriv.mechanisms.gaussian import gaussian_mean
from fedpriv.mechanisms.sampling import CohortLaw, Full, Poisson
from fedpriv.schemes import ClientDP, Scheme
from fedpriv.schemes.exchange import Hooks
from fedpriv.trace import Mechanism
from support.one_number import trace_of
from support.small_federation import Federation, delta_of_rounds


class Promise(NamedTuple):
    """An ε that somebody is told to be a guarantee, and what it is held against."""

    words: str
    epsilon: float
    delta: float
    found: float  # the δ of some neighbours at that ε


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
    for one in statements(ledger(trace, Deltas(delta=delta, instance_delta=delta))):
        if (one.status, one.relation, one.accounting) == (
            "guarantee",
            "add_remove",
            "",
        ) and one.epsilon < 300:
            found = told_apart(federation(scheme, hooks, law, population), rounds, np.array([one.epsilon]))
            yield Promise(f"{words}: {one}", one.epsilon, delta, 1.0 if clear else float(found[0]))


def promises(rng: np.random.Generator) -> list[Promise]:
    """Return what a random class that inherits is promised; of one that is refused nothing is."""
    found: list[Promise] = []
    with suppress(BadInput):
        found.extend(built_on_ours(rng, float(rng.choice([1e-2, 1e-5]))))
    return found
