"""No ε is too small that is promised to clients who are said to come seldom: by a trace, and by a plan."""

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from fedpriv_studies.correlated import MATRICES, Matrix, Turns
from fedpriv_studies.spaced import Spaced
from scipy.stats import norm
from support.matrices import encoder
from support.random_promises import Promise
from support.small_federation import Outcomes, delta_of_rounds, merged, subsets

from fedpriv.account import epsilon, ledger, statements
from fedpriv.errors import BadInput
from fedpriv.mechanisms.sampling import CohortLaw, Fixed, Full, Poisson

SETTINGS = 100  # of each kind


def gaussian(distance: float, epsilon: float) -> float:
    """Return the δ of two Gaussians of equal covariance, so many standard deviations apart."""
    if distance == 0:
        return 0.0
    behind = norm.logcdf(-distance / 2 - epsilon / distance)
    return float(norm.cdf(distance / 2 - epsilon / distance) - np.exp(epsilon + behind))


def in_turn(population: int, size: int, rounds: int) -> np.ndarray:
    """Return in which rounds each client comes, bool `[population, rounds]`, whose turns are `spaced`."""
    places = (np.arange(rounds)[:, None] * size + np.arange(size)) % population
    return np.array([(places == one).any(axis=1) for one in range(population)])


def moved(matrix: Matrix, came: np.ndarray, noise: float) -> np.ndarray:
    """Return what a client who comes in these rounds `[..., T]` moves the release by, over the noise."""
    return came @ encoder(matrix, came.shape[-1]).T / noise


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
    for one in statements(ledger(trace, delta)):
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


@pytest.mark.parametrize("kind", [law_and_sides, planned_turns])
def test_no_promise_is_below_what_neighbours_cost(kind):
    rng, kept = np.random.default_rng(20210301), []
    for _ in range(SETTINGS):
        with suppress(BadInput):  # of one that is refused nothing is promised
            kept += kind(rng, float(rng.choice([1e-2, 1e-5])))
    wrong = [f"{one.words}: δ {one.found:.3g}" for one in kept if one.found > one.delta * (1 + 1e-3)]
    assert not wrong, "\n".join(wrong)
    assert len(kept) > SETTINGS // 4
