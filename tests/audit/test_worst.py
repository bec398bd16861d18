"""What the worst neighbours cost is never more than what they cost exactly, and hardly less."""

import math

import dp_accounting as dp
import numpy as np
import pandas as pd
import pytest
from dp_accounting.pld import PLDAccountant
from scipy.optimize import brentq
from scipy.stats import norm

from fedpriv.account import Deltas
from fedpriv.account.releases import planned_release
from fedpriv.audit import traces

ONCE = [(0.3, 3.0, 1e-3), (0.3, 0.7, 1e-5), (0.034, 1.1, 1e-5), (0.9, 0.5, 1e-6), (0.01, 20.0, 1e-6)]
MANY = [(0.034, 1.1, 58, 1e-5), (0.01, 1.0, 1000, 1e-5), (0.3, 3.0, 300, 1e-3), (0.25, 4.0, 15, 1e-5)]


def written_out(rate: float, noise: float, delta: float, opposite: bool) -> float:
    """Return ε of one release by adding up both densities, of the worse of both directions."""
    seen = np.linspace(-1 - 12 * noise, 1 + 12 * noise, 1_000_001)
    none = (1 - rate) * norm.pdf(seen, 0, noise)
    one = none + rate * norm.pdf(seen, 1, noise)
    other = none + rate * norm.pdf(seen, -1, noise) if opposite else norm.pdf(seen, 0, noise)
    step = seen[1] - seen[0]

    def excess(epsilon: float) -> float:
        pairs = ((one, other), (other, one))
        return max(np.clip(a - math.exp(epsilon) * b, 0, None).sum() * step for a, b in pairs) - delta

    return brentq(excess, 0, 100) if excess(0) > 0 else 0.0


@pytest.mark.parametrize("name", ["removed", "replaced"])
@pytest.mark.parametrize(("rate", "noise", "delta"), ONCE)
def test_of_one_release_the_bound_is_what_the_densities_say(name, rate, noise, delta):
    exact = written_out(rate, noise, delta, name == "replaced")
    found = traces.pair_epsilon(name, [planned_release(rate, noise)], [1], delta)
    assert 0.998 * exact - 1e-4 <= found <= exact + 1e-6


@pytest.mark.parametrize(
    ("name", "relation"),
    [
        ("removed", dp.NeighboringRelation.ADD_OR_REMOVE_ONE),
        ("replaced", dp.NeighboringRelation.REPLACE_ONE),
    ],
)
@pytest.mark.parametrize(("rate", "noise", "rounds", "delta"), MANY)
def test_of_many_it_is_just_below_what_the_library_rounds_up(name, relation, rate, noise, rounds, delta):
    theirs = PLDAccountant(relation)
    theirs.compose(dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(noise)), rounds)
    upper = theirs.get_epsilon(delta)
    assert 0.99 * upper <= traces.pair_epsilon(name, [planned_release(rate, noise)], [rounds], delta) <= upper


@pytest.mark.parametrize("name", ["removed", "replaced"])
def test_phases_are_composed_and_whole_gaussians_among_them(name):
    phases = [planned_release(0.02, 1.5), planned_release(1.0, 8.0)]
    relation = dp.NeighboringRelation.ADD_OR_REMOVE_ONE
    theirs = PLDAccountant(relation if name == "removed" else dp.NeighboringRelation.REPLACE_ONE)
    theirs.compose(dp.PoissonSampledDpEvent(0.02, dp.GaussianDpEvent(1.5)), 200)
    theirs.compose(dp.GaussianDpEvent(8.0), 3)
    upper = theirs.get_epsilon(1e-5)
    assert 0.98 * upper <= traces.pair_epsilon(name, phases, [200, 3], 1e-5) <= upper


def test_without_sampling_it_is_the_gaussian_itself_and_without_noise_infinite():
    whole = traces.pair_epsilon("replaced", [planned_release(1.0, 4.0)], [4], 1e-5)
    assert whole == pytest.approx(
        traces.pair_epsilon("removed", [planned_release(1.0, 1.0)], [1], 1e-5), rel=1e-6
    )
    assert traces.pair_epsilon("removed", [planned_release(0.5, 0.0)], [1], 1e-5) == math.inf


LAWS = {
    "poisson": {"sampling_law": "poisson", "sampling_rate": 0.1},
    "full": {"sampling_law": "full"},
    "fixed": {"sampling_law": "fixed", "population": 50, "cohort_size": 5},
}


@pytest.mark.parametrize("unit", ["client", "instance"])
@pytest.mark.parametrize("law", LAWS)
def test_no_guarantee_of_a_trace_is_refuted_and_every_one_has_a_bound_beneath_it(law, unit):
    trace = pd.DataFrame([{"unit": unit, "noise_multiplier": 2.0, "releases": 30} | LAWS[law]])
    found = traces.audit_trace(trace, Deltas())
    assert found and all(0 < one.lower_bound <= one.epsilon for one in found if one.kind == "guarantee")
    assert {one.audit for one in found} == ({"replaced"} if law == "fixed" else {"removed", "replaced"})


def test_a_guarantee_that_is_too_small_is_refuted():
    trace = pd.DataFrame([{"unit": "client", "noise_multiplier": 2.0, "releases": 30} | LAWS["poisson"]])
    found = [one for one in traces.audit_trace(trace, Deltas()) if "pld C" in one.about]
    assert found and all(one._replace(epsilon=0.98 * one.lower_bound).refuted for one in found)
