"""What a cohort of a fixed size costs by `pld`: against every pair of neighbours that can be written out.

The oracle (`support.small_federation`) draws every cohort that there can be; an attacker sees in which of
many cells a sum is, which tells no more than the sum. A pair alone is not enough for several rounds, because
clients may send another thing in each, and know what came out.
"""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from support.small_federation import Federation, Outcomes

from fedpriv.account import (
    Deltas,
    affordable_rounds,
    calibrate,
    epsilon,
    ledger,
    loss,
    plans,
    pld,
    statements,
)
from fedpriv.account.releases import planned_release
from fedpriv.audit.traces import audit_trace, pair_epsilon
from fedpriv.errors import BadInput

FIXED = {"accountant": "pld", "sampling_law": "fixed"}
PARTS = (-1.0, -0.5, 0.0, 0.5, 1.0)  # of the clipping norm
EPSILONS = np.linspace(-3, 3, 25)


def divergence(one: np.ndarray, other: np.ndarray, epsilons: np.ndarray) -> np.ndarray:
    """Return δ of two distributions on the same cells at every ε, negative ones too."""
    return (one - np.exp(epsilons)[:, None] * other).clip(min=0).sum(axis=1)


def counted(rate: float, noise: float) -> np.ndarray:
    """Return δ at every ε of the loss that is composed, which is exact on its grid."""
    release = loss.replacement_loss_from_above(rate, noise / 2, EPSILONS[1] - EPSILONS[0])
    gone = -np.expm1(np.minimum(EPSILONS[:, None] - release.losses, 0.0))
    return gone @ release.mass + release.infinite


def seen(outcomes: Outcomes, edges: np.ndarray) -> np.ndarray:
    """Return the probabilities of cells."""
    below = ndtr((edges[:, None] - outcomes.mean) / outcomes.std) @ outcomes.probability
    return np.diff(below, prepend=0.0)


def pair(rate: float, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Return what is seen where all others send −C and one client C, and where it sends −C as well."""
    edges = np.linspace(-7.5 * noise, 7.5 * noise, 1500)
    mixture = Outcomes(np.array([1 - rate, rate]), np.zeros(2), np.array([0.0, 2.0]), np.full(2, noise))
    return seen(mixture, edges), seen(mixture._replace(mean=np.zeros(2)), edges)


@pytest.mark.parametrize("noise", [0.5, 2.0])
@pytest.mark.parametrize(("clients", "size"), [(2, 1), (3, 1), (3, 2), (4, 2), (4, 3)])
def test_no_neighbours_of_a_fixed_cohort_are_further_apart_at_any_epsilon(clients, size, noise):
    federation = Federation(clients, "fixed", 0.0, size, server_std=noise)
    most, edges = counted(size / clients, noise), np.linspace(-8 * noise - size, 8 * noise + size, 2000)
    apart = np.zeros(len(EPSILONS))
    for *others, here, there in product(PARTS, repeat=clients + 1):
        if here <= there or others != sorted(others):
            continue
        both = [seen(federation.round(np.array([mine, *others])), edges) for mine in (here, there)]
        apart = np.max([apart, divergence(*both, EPSILONS), divergence(*both[::-1], EPSILONS)], axis=0)
    assert (apart <= most + 1e-12).all()
    np.testing.assert_allclose(apart, most, atol=1e-5)  # and some are as far apart


@given(
    st.integers(2, 5).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))),
    st.floats(0.3, 5),
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 2 * np.pi)), min_size=3, max_size=3),
)
@settings(max_examples=15)
def test_nor_are_three_points_of_a_plane(cohort, noise, points):
    """Given who else came a round compares mixtures of points of the ball, whatever dimension that has."""
    rate = cohort[1] / cohort[0]
    x, y = np.transpose([[length * np.cos(angle), length * np.sin(angle)] for length, angle in points])
    axis = np.linspace(-7 * noise - 1, 7 * noise + 1, 161)
    grid = np.stack(np.meshgrid(axis, axis))
    densities = [
        np.exp(-((grid[0] - a) ** 2 + (grid[1] - b) ** 2) / (2 * noise**2)).ravel() / (2 * np.pi * noise**2)
        for a, b in zip(x, y, strict=True)
    ]
    in_its_place, here, there = (density * (axis[1] - axis[0]) ** 2 for density in densities)
    both = [(1 - rate) * in_its_place + rate * mine for mine in (here, there)]
    apart = np.maximum(divergence(*both, EPSILONS), divergence(*both[::-1], EPSILONS))
    assert (apart <= counted(rate, noise) + 2e-4).all()


def test_one_pair_in_every_round_is_no_bound_where_clients_know_what_came_out():
    """In the second round all others send what the client sends in whichever world is less likely by now."""
    rate, noise, delta = 0.3, 1.0, 0.05
    one, other = pair(rate, noise)
    losses = np.log(one / other)

    def two_rounds(epsilon: float, turns: bool) -> float:
        left = epsilon - losses
        second = divergence(one, other, left)
        if turns:
            second = np.maximum(second, divergence(other, one, left))
        return float(one @ second)

    plan = {"sampling_rate": rate, "noise_multiplier": noise, "rounds": 2, "delta": delta}
    of_the_pair = pld.epsilon(**plan | {"noise_multiplier": noise / 2})  # added or removed at 2C
    assert two_rounds(of_the_pair, turns=False) == pytest.approx(delta, rel=2e-3)
    assert two_rounds(of_the_pair, turns=True) > 1.02 * delta
    assert two_rounds(epsilon(**plan, **FIXED).epsilon, turns=True) <= delta


SETTINGS = [(0.3, 3.0, 300, 1e-3), (0.1, 2.0, 300, 1e-5), (0.1, 1.0, 10, 1e-5), (0.5, 5.0, 100, 1e-5)]


@pytest.mark.parametrize(("rate", "noise", "rounds", "delta"), SETTINGS)
def test_the_bound_is_near_what_one_pair_costs_and_far_below_that_of_rdp(rate, noise, rounds, delta):
    plan = {"sampling_rate": rate, "rounds": rounds, "delta": delta}
    below = pld.epsilon(**plan, noise_multiplier=noise / 2) * (1 - 1e-3)
    found = {
        name: epsilon(**plan, noise_multiplier=noise, **FIXED | {"accountant": name})
        for name in ("pld", "rdp")
    }
    assert below <= found["pld"].epsilon <= 1.2 * below
    assert found["pld"].epsilon < 0.75 * found["rdp"].epsilon
    for one in found.values():
        assert (one.relation, one.sampling_law, one.sensitivity) == ("replace_one", "fixed", "2C")
        assert one.status == "guarantee"


@pytest.mark.parametrize(("rounds", "delta"), [(1, 1e-2), (7, 1e-6)])
def test_a_cohort_of_everybody_is_one_gaussian_at_twice_the_norm(rounds, delta):
    from dp_accounting import get_epsilon_gaussian

    plan = {"sampling_rate": 1.0, "rounds": rounds, "delta": delta, "noise_multiplier": 4.0}
    exact = get_epsilon_gaussian(2.0 / rounds**0.5, delta)
    assert epsilon(**plan, **FIXED).epsilon == pytest.approx(exact, rel=1e-3)
    trace = rows([(10, 10)] * rounds, 4.0)
    (found,) = (one.epsilon for one in statements(ledger(trace, delta)) if one.accountant == "pld")
    assert found == pytest.approx(exact, rel=1e-3)


def rows(cohorts: list[tuple[int, int]], noise: float) -> pd.DataFrame:
    sizes, populations = zip(*cohorts, strict=True)
    drawn = {"sampling_law": "fixed", "cohort_size": sizes, "population": populations}
    return pd.DataFrame({"unit": "client", "noise_multiplier": noise, **drawn})


def last(trace: pd.DataFrame, delta: float, accountant: str = "pld") -> float:
    (found,) = (one.epsilon for one in statements(ledger(trace, delta)) if one.accountant == accountant)
    return found


def test_a_trace_costs_what_was_planned():
    planned = epsilon(sampling_rate=0.3, noise_multiplier=3.0, rounds=40, delta=1e-3, **FIXED).epsilon
    assert last(rows([(30, 100)] * 40, 3.0), 1e-3) == pytest.approx(planned, rel=1e-3)


@pytest.mark.parametrize("sizes", [9, 40])
def test_cohorts_of_many_sizes_cost_between_those_of_the_smallest_and_the_largest(sizes):
    cohorts = [(200 + size, 1000) for size in range(sizes)]
    found = last(rows(cohorts, 4.0), 1e-5)
    least, most = (
        epsilon(sampling_rate=size / 1000, noise_multiplier=4.0, rounds=sizes, delta=1e-5, **FIXED).epsilon
        for size, _ in (cohorts[0], cohorts[-1])
    )
    assert least <= found <= most * 1.001
    # Half of them have one size, half another: the grid of many is coarser, by less than a hundredth.
    two = [(size, 1000) for size in (200, 199 + sizes)] * (sizes // 2)
    middle = last(rows(two, 4.0), 1e-5)
    assert last(rows(cohorts[: sizes // 2] + cohorts[-(sizes // 2) :], 4.0), 1e-5) == pytest.approx(
        middle, rel=0.01
    )


def test_the_sizes_of_poisson_cohorts_that_are_seen_are_counted_by_losses_too():
    drawn = np.random.default_rng(0).binomial(100, 0.3, 60)
    facts = {"sampling_law": "poisson", "sampling_rate": 0.3, "population": 100, "denominator": "present"}
    trace = pd.DataFrame({"unit": "client", "noise_multiplier": 3.0, "cohort_size": drawn, **facts})
    sized = {one.accountant: one for one in statements(ledger(trace, 1e-3)) if one.accounting == "sized"}
    assert {*sized} == {"rdp", "pld"} and sized["pld"].epsilon < 0.6 * sized["rdp"].epsilon
    assert sized["pld"].epsilon == pytest.approx(last(rows([(n, 100) for n in drawn], 3.0), 1e-3), rel=1e-9)


@pytest.mark.parametrize(("rate", "noise", "rounds", "delta"), SETTINGS[:3])
def test_the_audit_of_a_trace_has_a_lower_bound_near_beneath_each_row(rate, noise, rounds, delta):
    trace = rows([(round(100 * rate), 100)], noise).assign(releases=rounds)
    found = {one.about: one for one in audit_trace(trace, Deltas(delta=delta))}
    least = found["client (pld 2C)"]
    assert 0.85 * least.epsilon <= least.lower_bound <= least.epsilon
    assert found["client (rdp 2C)"].lower_bound == least.lower_bound


def test_at_a_large_delta_a_client_who_is_replaced_in_poisson_samples_costs_what_opposites_cost():
    """There the pair of opposites costs more than a client added or removed at twice the norm: 0.0350."""
    rate, noise, rounds, delta, below = 0.9, 5.0, 5, 0.3, 0.0355
    trace = pd.DataFrame(
        {"unit": "client", "sampling_law": "poisson", "sampling_rate": rate}, index=range(rounds)
    )
    counted = statements(ledger(trace.assign(noise_multiplier=noise), delta))
    (found,) = (one for one in counted if (one.accountant, one.sensitivity) == ("pld", "2C"))
    opposites = pair_epsilon("replaced", [planned_release(rate, noise)], [rounds], delta)
    twice = {"sampling_rate": rate, "noise_multiplier": noise / 2, "rounds": rounds, "delta": delta}
    assert pld.epsilon(**twice) < below < opposites <= found.epsilon


def test_noise_is_calibrated_and_rounds_are_afforded_for_cohorts_of_a_fixed_size():
    plan = {"sampling_rate": 0.3, "delta": 1e-3}
    for accountant in plans.planners("gaussian", ["sampling_law"]):
        told = plan | FIXED | {"accountant": accountant}
        noise = calibrate(epsilon=8.0, rounds=50, **told)
        assert epsilon(noise_multiplier=noise, rounds=50, **told).epsilon <= 8.0
        assert epsilon(noise_multiplier=noise * 0.999, rounds=50, **told).epsilon > 8.0
        assert affordable_rounds(epsilon=8.0, noise_multiplier=noise, at_most=99, **told) == 50


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (
            {"accountant": "moments"},
            "found fixed with moments, allowed: poisson, or the accountants rdp, pld",
        ),
        ({"sampling_law": "shuffled"}, "found shuffled, allowed: poisson, fixed"),
    ],
)
def test_a_law_that_an_accountant_does_not_count_is_refused_with_those_that_do(told, line):
    with pytest.raises(BadInput, match=f"^sampling_law: {line}"):
        epsilon(sampling_rate=0.3, noise_multiplier=1.0, rounds=3, delta=1e-3, **FIXED | told)


def test_of_a_count_beside_a_sum_with_noise_of_clients_a_bound_is_known_where_one_is_replaced():
    beside = {"count_noise_multiplier": 5.0, "upload_l2": 1.0, "upload_noise_std": 0.5}
    counted = statements(ledger(rows([(3, 10)] * 3, 2.0).assign(**beside), 1e-3))
    found = [one for one in counted if one.accounting == "" and one.status == "guarantee"]
    assert [(one.accountant, one.relation) for one in found] == [
        ("rdp", "replace_one"),
        ("pld", "replace_one"),
    ]
