import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from fedpriv.config.run import Run
from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.mechanisms.clipping import Bounded, clip
from fedpriv.mechanisms.sampling import Fixed, Full, Poisson
from fedpriv.schemes import SCHEMES
from fedpriv.schemes.base import NoPrivacy, RoundContext
from fedpriv.schemes.client_dp import ClientDP
from fedpriv.schemes.dpfl_bnn import DpflBnn
from fedpriv.schemes.global_dp import GlobalDP
from fedpriv.schemes.instance import Instance
from fedpriv.schemes.joint import Joint
from fedpriv.schemes.nbafl import NbAFL
from fedpriv.schemes.split import Split
from fedpriv.streams import Streams

BUDGET = {"epsilon": 8.0, "delta": 1e-3}
SCHEME = {
    "none": NoPrivacy(),
    "client_dp": ClientDP(clip_l2=0.7, noise_multiplier=2.0),
    "global_dp": GlobalDP(clip="median", noise_multiplier=2.0, budget=BUDGET),
    "instance": Instance(clip_l2=0.7, noise_multiplier=2.0),
    "joint": Joint(clip_l2=0.7, noise_multiplier=2.0),
    "split": Split(clip_l2=0.7, noise_multiplier=2.0, server_noise_multiplier=3.0, clip_uploads=False),
    "dpfl_bnn": DpflBnn(gamma=0.1),
    "nbafl": NbAFL(epsilon=10, constant=1, weight_clip=0.7, scaling="paper", clip="norm"),
}
if "dp_ftrl" in SCHEMES:  # where fedpriv-studies is installed
    for name in ("adaptive_dp", "dp_ftrl"):
        SCHEME[name] = SCHEMES[name](name=name, clip_l2=0.7, noise_multiplier=2.0)
# These get updates that the clients have bounded already, or bits.
BOUNDED_BY_CLIENTS = ("instance", "joint", "split", "dpfl_bnn")


def now(round_number=1, expected=30.0, clients=8, tensors=(40,)):
    sizes, memory = torch.full((clients,), 50).numpy(), {"clip_l2": torch.tensor([0.7], dtype=torch.float64)}
    return RoundContext(
        round_number, 10, 100, expected, sizes, 50, tensors, Streams(0, "test"), memory=memory
    )


def updates(clients=8, d=40, scale=1.0, seed=0):
    return scale * torch.randn(clients, d, generator=torch.Generator().manual_seed(seed))


def test_every_scheme_is_covered_here():
    assert set(SCHEME) == set(SCHEMES)


@pytest.mark.parametrize("scheme", [SCHEME[name] for name in SCHEME if name not in BOUNDED_BY_CLIENTS])
@pytest.mark.parametrize("scale", [0.0, 1e-30, 1e-3, 1.0, 1e10, 1e30])
def test_every_bounded_row_is_inside_its_stated_bound(scheme, scale):
    bounded, _ = scheme.bound(updates(scale=scale), now())
    assert (bounded.updates.double().norm(dim=1) <= bounded.l2).all()


@given(seed=st.integers(0, 10**6), l2=st.floats(1e-6, 1e6), spread=st.floats(0, 6))
def test_clipping_never_leaves_the_ball_and_never_moves_what_is_inside(seed, l2, spread):
    rows = updates(seed=seed) * 10 ** torch.linspace(-spread, spread, 8)[:, None]
    clipped = clip(rows, l2)[0].updates
    assert (clipped.double().norm(dim=1) <= l2).all()
    inside = rows.norm(dim=1) <= l2
    assert torch.equal(clipped[inside], rows[inside])


@pytest.mark.parametrize("scheme", [SCHEME["client_dp"], SCHEME["global_dp"]], ids=["client_dp", "global_dp"])
@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_an_update_that_is_not_finite_never_reaches_the_sum(scheme, poison):
    rows = updates()
    rows[3, 5] = poison
    bounded, facts = scheme.bound(rows, now())
    assert bounded.updates.isfinite().all()
    assert facts["not_finite"] == 1


def test_the_median_scheme_clips_the_larger_half_down_and_lets_the_smaller_half_be():
    rows = torch.diag(torch.arange(1.0, 6.0))
    bounded, facts = SCHEME["global_dp"].bound(rows, now())
    assert bounded.updates.norm(dim=1).tolist() == pytest.approx([1, 2, 3, 3, 3], rel=1e-5)
    assert facts["clip_private"]


def test_noise_std_equals_sensitivity_times_multiplier():
    scheme = SCHEME["client_dp"]
    bounded, _ = scheme.bound(torch.zeros(3, 200_000), now())
    step, facts = scheme.combine(bounded, now(expected=1.0))
    assert facts["noise_std"] == pytest.approx(1.4)
    assert float(step.std()) == pytest.approx(1.4, rel=0.01)  # standard error 0.16 %


@pytest.mark.parametrize("scheme", SCHEME.values(), ids=SCHEME)
def test_the_denominator_is_public(scheme):
    rows = updates(clients=3)
    bounded, _ = scheme.bound(rows, now())
    once, _ = scheme.combine(bounded, now())
    again, _ = scheme.combine(bounded, now(expected=60.0))
    assert torch.allclose(once, 2 * again)


@pytest.mark.parametrize("scheme", SCHEME.values(), ids=SCHEME)
def test_an_empty_cohort_gives_a_finite_step(scheme):
    bounded, _ = scheme.bound(torch.zeros(0, 5), now())
    sent, _ = scheme.release(bounded, bounded.updates, now(clients=0))
    step, _ = scheme.combine(sent, now(clients=0))
    assert step.shape == (5,)
    assert step.isfinite().all()


@pytest.mark.parametrize("scheme", SCHEME.values(), ids=SCHEME)
def test_a_round_is_a_function_of_its_streams(scheme):
    def step(round_number):
        return scheme.combine(scheme.bound(updates(), now())[0], now(round_number))[0]

    assert torch.equal(step(4), step(4))
    noisy = scheme.name in ("adaptive_dp", "client_dp", "dp_ftrl", "global_dp", "split")
    assert torch.equal(step(4), step(5)) != noisy


def test_split_adds_the_servers_noise_to_noisy_uploads():
    scheme = SCHEME["split"]
    uploads = torch.ones(3, 200_000)
    sent, _ = scheme.release(scheme.bound(torch.zeros(3, 200_000), now())[0], uploads, now())
    step, facts = scheme.combine(sent, now(expected=1.0))
    assert facts["noise_std"] == pytest.approx(2.1)
    assert (float(step.mean()), float(step.std())) == pytest.approx((3.0, 2.1), rel=0.01)


def test_a_server_that_clips_noisy_uploads_is_left_with_noise():
    clean, noise = torch.zeros(5, 10_000), 2.0 * updates(clients=5, d=10_000)
    clean[:, 0] = 0.7
    scheme = SCHEME["split"].model_copy(update={"clip_uploads": True})
    sent, facts = scheme.release(scheme.bound(clean, now())[0], clean + noise, now())
    assert facts["share_clipped"] == 1.0
    assert (sent.updates.norm(dim=1) <= 0.7).all()
    # Each upload had norm 2 · √10,000: a share of 0.7/200 of the gradient is left.
    assert float((sent.updates - 0.7 / 200 * noise)[:, 0].mean()) == pytest.approx(0.7 * 0.7 / 200, rel=0.2)


FEDSGD, FEDAVG = {"name": "fedsgd", "batch_size": 5}, {"name": "fedavg", "steps": 2, "batch_size": 5}


@pytest.mark.parametrize(
    ("scheme", "local", "problem"),
    [
        ("instance", {"name": "fedsgd"}, "local.batch_size: found null, allowed: a number"),
        ("instance", {"name": "fedavg", "epochs": 2}, "local.steps: found null, allowed: a number"),
        ("joint", FEDAVG, "local: found fedavg, allowed: fedsgd"),
        ("instance", FEDAVG, ""),
        ("joint", FEDSGD, ""),
    ],
)
def test_local_work_that_a_scheme_cannot_protect_is_refused(scheme, local, problem):
    config = {
        "dataset": "digits",
        "partition": {"law": "iid", "clients": 8},
        "model": "cnn",
        "cohort": {"law": "full"},
        "scheme": SCHEME[scheme].model_dump(),
        "local": local,
    }
    if not problem:
        assert Run.model_validate(config).scheme == SCHEME[scheme]
        return
    with pytest.raises(BadInput, match=f"^here: {problem}.*, with scheme {scheme}$"):
        parse(Run.model_validate, config, "here")


def test_global_dp_stops_before_its_budget_is_exceeded():
    from fedpriv.account import plans

    scheme = GlobalDP(clip=1.0, noise_multiplier=1.0, budget=BUDGET)
    rounds = scheme.horizon(Poisson(rate=0.3), 100, 300)

    def epsilon(count):
        return plans.epsilon(
            sampling_rate=0.3, noise_multiplier=1.0, rounds=count, delta=1e-3, accountant="moments"
        ).epsilon

    assert epsilon(rounds) <= 8.0 < epsilon(rounds + 1)


def test_a_sum_is_topped_up_to_the_noise_of_a_constant_number_of_shares():
    scheme = Joint(clip_l2=0.7, noise_multiplier=2.0, top_up=1e-6)
    shares = Poisson(rate=0.3).most(100, 10, 1e-6)
    assert 100 * 0.3 < shares < 100
    for size in (0, 8, 30):
        context = now(clients=size)._replace(law=Poisson(rate=0.3), gradient_noise_std=1.4)
        zeros = Bounded(torch.zeros(size, 40_000), math.inf)
        step, facts = scheme.combine(zeros, context)
        assert facts == {"noise_shares": shares, "topped_up": True}
        assert float(step.std()) * 30 == pytest.approx(1.4 * math.sqrt(shares - size), rel=0.02)
    everybody = Joint(clip_l2=0.7, noise_multiplier=2.0, top_up=0).combine(zeros, context)[1]
    assert everybody["noise_shares"] == 100


def test_the_others_are_fewer_than_the_shares_but_with_the_probability_that_was_asked_for():
    for failure in (0.0, 1e-9, 1e-3):
        shares = Poisson(rate=0.3).most(100, 10, failure)
        assert 10 * binom.sf(shares - 1, 99, 0.3) <= failure
        assert shares == 100 or 10 * binom.sf(shares - 2, 99, 0.3) > failure
    assert Fixed(size=7).most(100, 10, 1e-9) == 7 and Full().most(100, 10, 0.0) == 100


def test_a_mean_over_those_present_is_divided_by_their_number():
    rows = Bounded(torch.ones(8, 40_000) / 1000, 0.7)
    for denominator, size in (("expected", 30), ("present", 8)):
        scheme = ClientDP(clip_l2=0.7, noise_multiplier=2.0, denominator=denominator)
        mean, facts = scheme.combine(rows, now())
        assert facts["denominator"] == denominator and facts["noise_std"] == pytest.approx(1.4)
        assert float(mean.std()) == pytest.approx(1.4 / size, rel=0.02)
    nobody = ClientDP(clip_l2=0.7, noise_multiplier=2.0, denominator="present").combine(
        Bounded(torch.zeros(0, 40), 0.7), now()
    )
    assert nobody[0].isfinite().all()


def test_a_key_that_came_later_changes_no_identity_until_it_is_used():
    for scheme, key, value in (
        (SCHEME["client_dp"], "denominator", "present"),
        (SCHEME["joint"], "top_up", 0.0),
        (SCHEME["global_dp"], "clipping", "released"),
    ):
        assert key not in scheme.model_dump(mode="json")
        assert scheme.model_copy(update={key: value}).model_dump(mode="json")[key] == value
