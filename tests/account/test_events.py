import pytest

from fedpriv.account.views import Mechanism, planned


@pytest.mark.parametrize(("rate", "law"), [(0.2, "poisson"), (1.0, "full")])
def test_a_plan_is_poisson_sampling_unless_everybody_takes_part(rate: float, law: str) -> None:
    assert planned(rate, 2.0).law == law


def test_who_moves_the_sum_twice_as_far_sees_half_the_multiplier() -> None:
    release = Mechanism("poisson", 1000, 0, 0.2, 1.5)
    assert (release.multiplier("C"), release.multiplier("2C")) == (1.5, 0.75)
