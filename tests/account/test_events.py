import dp_accounting as dp
import pytest

from fedpriv.account.events import Mechanism, event, planned


def test_poisson_samples_become_sampled_gaussians_of_their_rate_and_noise() -> None:
    expected = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.2, dp.GaussianDpEvent(1.5)), 4)
    assert event(Mechanism("poisson", 1000, 0, 0.2, 1.5), 4) == expected


def test_full_samples_become_plain_gaussians() -> None:
    assert event(Mechanism("full", 1000, 0, 1.0, 1.5), 4) == dp.SelfComposedDpEvent(
        dp.GaussianDpEvent(1.5), 4
    )


def test_fixed_samples_become_draws_without_replacement_at_half_the_multiplier() -> None:
    draw = dp.SampledWithoutReplacementDpEvent(1000, 30, dp.GaussianDpEvent(0.75))
    assert event(Mechanism("fixed", 1000, 30, 0.03, 1.5), 4, "2C") == dp.SelfComposedDpEvent(draw, 4)


@pytest.mark.parametrize("law", ["poisson", "fixed", "full"])
def test_releases_without_noise_become_non_private(law: str) -> None:
    assert event(Mechanism(law, 100, 10, 0.1, 0.0), 3) == dp.NonPrivateDpEvent()


@pytest.mark.parametrize(("rate", "law"), [(0.2, "poisson"), (1.0, "full")])
def test_a_plan_is_poisson_sampling_unless_everybody_takes_part(rate: float, law: str) -> None:
    assert planned(rate, 2.0).law == law
