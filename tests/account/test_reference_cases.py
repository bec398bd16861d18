"""Twelve settings of the literature, each accounted in several ways; values computed with other code."""

from typing import NamedTuple

import pytest

from fedpriv.account import moments, pld, rdp


class Case(NamedTuple):
    rate: float
    multiplier: float
    rounds: int
    delta: float
    moments: float
    best_lambda: int
    rdp: float
    pld: float

    def plan(self) -> dict[str, float]:
        return {
            "sampling_rate": self.rate,
            "noise_multiplier": self.multiplier,
            "rounds": self.rounds,
            "delta": self.delta,
        }


CASES = {
    "one release": Case(1, 1, 1, 1e-5, 5.3026, 5, 4.7285, 4.3772),
    "full participation": Case(1, 10, 100, 1e-5, 5.3026, 5, 4.7285, 4.3772),
    "headline of Abadi et al.": Case(0.01, 4, 10000, 1e-5, 1.2586, 19, 1.0355, 0.9470),
    "MNIST, long": Case(256 / 60000, 1.1, 14062, 1e-5, 3.0091, 8, 2.5966, 2.3817),
    "MNIST, short": Case(0.01, 1.3, 1500, 1e-5, 1.8552, 12, 1.5486, 1.4059),
    "Geyer et al., 100 clients": Case(0.3, 1, 24, 1e-3, 10.3588, 1, 8.5055, 7.2411),
    "Geyer et al., 1,000 clients": Case(0.1, 1, 10, 1e-5, 4.1770, 4, 3.4416, 2.8545),
    "Geyer et al., 10,000 clients": Case(0.03, 1, 10, 1e-6, 2.4763, 6, 1.9906, 1.4725),
    "federated, 100 clients": Case(0.1, 1, 100, 1e-3, 6.6251, 2, 5.6551, 4.7844),
    "federated, 1,000 clients": Case(0.1, 2, 300, 1e-5, 5.1793, 5, 4.5643, 4.1833),
    "federated, 10,000 clients": Case(0.03, 2, 300, 1e-6, 1.6247, 16, 1.3795, 1.2677),
    "little noise": Case(0.1, 0.5, 50, 1e-5, 32.97, 1, 25.88, 22.62),
}


each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@each_case
def test_moments_gives_the_published_epsilon_at_the_published_order(case: Case) -> None:
    cost = case.rounds * moments.log_moment(case.rate, case.multiplier, range(1, 33))
    epsilon, order = moments.best(cost, case.delta, range(1, 33))
    assert epsilon == pytest.approx(case.moments, rel=2e-4)
    assert order == case.best_lambda
    assert moments.epsilon(**case.plan()) <= epsilon * (1 + 1e-12)  # by more orders


@each_case
def test_rdp_and_pld_give_the_published_epsilon(case: Case) -> None:
    assert rdp.epsilon(**case.plan()) == pytest.approx(case.rdp, rel=2e-4)
    assert pld.epsilon(**case.plan()) == pytest.approx(case.pld, rel=2e-4)
