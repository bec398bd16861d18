import dp_accounting as dp
import pytest

from fedpriv.account.events import Rounds, blocks, event


def test_consecutive_equal_rounds_are_one_block(make_trace) -> None:
    trace = make_trace(rounds=7)
    trace.loc[3:4, "noise_multiplier"] = 5.0
    assert [(block.noise_multiplier, block.times) for block in blocks(trace)] == [
        (2.0, 3),
        (5.0, 2),
        (2.0, 2),
    ]


def test_the_realised_size_of_a_poisson_cohort_does_not_split_a_block(make_trace) -> None:
    trace = make_trace(rounds=4)
    trace["cohort_size"] = [97, 103, 0, 110]
    assert len(blocks(trace)) == 1


def test_poisson_rounds_become_sampled_gaussians_of_the_traced_rate_and_noise(make_trace) -> None:
    (block,) = blocks(make_trace(rounds=4, rate=0.2, multiplier=1.5))
    expected = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.2, dp.GaussianDpEvent(1.5)), 4)
    assert event(block) == expected


def test_full_rounds_become_plain_gaussians(make_trace) -> None:
    (block,) = blocks(make_trace(rounds=4, rate=1.0, multiplier=1.5, law="full"))
    assert event(block) == dp.SelfComposedDpEvent(dp.GaussianDpEvent(1.5), 4)


def test_fixed_rounds_become_draws_without_replacement_at_half_the_multiplier(make_trace) -> None:
    (block,) = blocks(make_trace(rounds=4, rate=0.03, multiplier=1.5, law="fixed"))
    draw = dp.SampledWithoutReplacementDpEvent(1000, 30, dp.GaussianDpEvent(0.75))
    assert event(block, "2C") == dp.SelfComposedDpEvent(draw, 4)


@pytest.mark.parametrize("law", ["poisson", "fixed", "full"])
def test_rounds_without_noise_become_non_private(law: str) -> None:
    assert event(Rounds(law, 100, 10, 0.1, 0.0, 3)) == dp.NonPrivateDpEvent()
