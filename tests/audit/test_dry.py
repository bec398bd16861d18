import numpy as np
import pytest

from fedpriv.account import pld
from fedpriv.audit import dry
from fedpriv.audit.clients import AlikeRounds
from fedpriv.audit.dry.attacks import statement
from fedpriv.audit.dry.rounds import Site
from fedpriv.errors import BadInput
from fedpriv.mechanisms.clipping import clip
from fedpriv.mechanisms.gaussian import gaussian_mean
from fedpriv.mechanisms.sampling import Poisson
from fedpriv.schemes import SCHEMES, ClientDP, Scheme

PLAN, DELTA, WANTED = AlikeRounds(0.3, 2.0, 30), 1e-3, 4000
SHORT = AlikeRounds(0.3, 2.0, 8)


class ClipsAfterNoise(ClientDP):
    def bound(self, updates, context):
        noise = np.random.default_rng(len(updates)).standard_normal(tuple(updates.shape), dtype=np.float32)
        noisy = updates + 10 * self.noise_multiplier * updates.new_tensor(noise)
        return clip(noisy, self.clip_l2)

    def combine(self, bounded, context):
        return bounded.updates.sum(0) / context.expected, {}


class ReusesNoise(ClientDP):
    def combine(self, bounded, context):
        return super().combine(bounded, context._replace(number=3 if context.number == 7 else context.number))


class DrawsTwice(Poisson):
    def draw(self, population, rng):
        return np.repeat(super().draw(population, rng), 2)


SOUND = dry.named("client_dp", PLAN, DELTA)
Z = {"clip_l2": 1.0, "noise_multiplier": PLAN.noise_multiplier}
FAULTS = {
    "noise halved": SOUND._replace(scheme=ClientDP(clip_l2=1.0, noise_multiplier=PLAN.noise_multiplier / 2)),
    "clip after noise": SOUND._replace(scheme=ClipsAfterNoise(**Z)),
    "repeated clients": SOUND._replace(law=DrawsTwice(rate=PLAN.sampling_rate)),
    "noise reused": SOUND._replace(scheme=ReusesNoise(**Z)),
    "denominator of the cohort": SOUND._replace(scheme=ClientDP(**Z, denominator="present")),
    "inverted clipping": dry.named("global_dp_released", PLAN, DELTA),
}
SAID = {
    "noise halved": "the noise has 0.2",
    "clip after noise": "times the variance that is stated",
    "repeated clients": "a client is drawn more than once in round 1",
    "noise reused": "the noise of round 3 comes again in round 7",
    "denominator of the cohort": "the level of the noise changes",
    "inverted clipping": "in units of the bound",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault):
    found = dry.audited(FAULTS[fault], DELTA, WANTED)
    assert found.refuted and SAID[fault] in found.broken


@pytest.mark.parametrize("fault", ["noise halved", "repeated clients", "inverted clipping"])
def test_where_more_leaks_than_is_stated_the_lower_bound_itself_exceeds_it(fault):
    found = dry.audited(FAULTS[fault], DELTA, WANTED)
    assert found.lower_bound > found.epsilon


@pytest.mark.parametrize("mechanism", ["client_dp", "global_dp", "adaptive_dp", "instance"])
def test_a_sound_mechanism_is_not_refuted_and_most_of_its_epsilon_is_seen(mechanism):
    found = dry.audited(dry.named(mechanism, PLAN, DELTA), DELTA, WANTED)
    assert not found.refuted and found.epsilon == pytest.approx(pld.epsilon(**PLAN._asdict(), delta=DELTA))
    assert 0.6 * found.epsilon < found.lower_bound <= found.epsilon


# What a sound scheme is run as, beside its own defaults, and in how many rounds.
SOUND_ONES = [
    *((name, {}) for name in ("client_dp", "adaptive_dp", "global_dp", "instance")),
    *((name, {}) for name in ("joint", "split", "nbafl", "dpfl_bnn")),
    ("client_dp", {"cohort": {"law": "fixed"}}),
    ("client_dp", {"cohort": {"law": "spaced"}}),
    ("dp_ftrl", {}),
    ("dp_ftrl", {"matrix": "banded", "bands": 2}),
    ("dp_ftrl", {"matrix": "banded", "cohort": {"law": "poisson"}}),
    ("dp_ftrl", {"matrix": "blt"}),
    ("client_dp", {"denominator": "present"}),
    ("client_dp", {"hooks": {"clip_upload": {"bound": 0.5}}}),
    ("client_dp", {"hooks": {"upload_noise_std": 0.1}}),
    ("none", {"hooks": {"clip_upload": {"bound": 0.5, "kind": "element"}, "upload_noise_std": 50.0}}),
    ("adaptive_dp", {"count_share": 0.5, "clip_l2": 1e-6}),
    ("instance", {"per_example_clip": False}),
    ("split", {"clip_uploads": False, "noise_multiplier": 0.5}),
    ("nbafl", {"scaling": "document", "epsilon": 8.0}),
]


@pytest.mark.parametrize(("name", "settings"), SOUND_ONES, ids=str)
def test_no_sound_scheme_is_refuted(name, settings):
    found = dry.audited(dry.named(name, SHORT, DELTA, settings), DELTA, 800, seed=1)
    assert not found.refuted, found.broken
    assert 0 < found.epsilon < np.inf and found.lower_bound <= found.epsilon


def test_of_eight_dry_runs_of_a_sound_scheme_none_is_refuted():
    mechanism = dry.named("client_dp", AlikeRounds(0.3, 2.0, 4), DELTA)
    assert not any(dry.audited(mechanism, DELTA, 400, seed=seed).refuted for seed in range(8))


def test_every_scheme_of_ours_with_an_epsilon_is_among_them():
    assert {name for name, _ in SOUND_ONES} >= set(SCHEMES.own)


@pytest.mark.parametrize("law", ["poisson", "full"])
def test_who_comes_in_every_round_is_attacked_in_every_round(law):
    plan, settings = AlikeRounds(1.0, 4.0, 5), {"cohort": {"law": law}}
    found = dry.audited(dry.named("client_dp", plan, DELTA, settings), DELTA, WANTED)
    assert 0.6 * found.epsilon < found.lower_bound <= found.epsilon


def test_uploads_of_clients_who_always_come_show_most_of_what_they_are_said_to():
    found = dry.audited(dry.named("nbafl", AlikeRounds(1.0, 4.0, 10), DELTA), DELTA, WANTED)
    assert "in the uploads" in found.about and 0.6 * found.epsilon < found.lower_bound <= found.epsilon


class Annealed(Scheme):
    """Noise that falls from round to round: a scheme of somebody else's, with keys of its own."""

    name: str = "annealed"
    unit = "client"
    mechanism = "gaussian"
    bound_l2: float
    first: float

    def bound(self, updates, context):
        return clip(updates, self.bound_l2)

    def combine(self, bounded, context):
        return gaussian_mean(
            bounded, self.first / context.number**0.1, context.expected, context.noise("noise")
        )


def test_a_scheme_of_a_package_is_audited_by_its_name_and_keys(monkeypatch):
    monkeypatch.setitem(SCHEMES, "annealed", Annealed)
    mechanism = dry.named("annealed", SHORT, DELTA, {"bound_l2": 0.3, "first": 3.0})
    found = dry.audited(mechanism, DELTA, 2000)
    assert not found.refuted and 0 < found.lower_bound < found.epsilon
    with pytest.raises(BadInput, match="--mechanism annealed --set: first: is required"):
        dry.named("annealed", SHORT, DELTA, {"bound_l2": 0.3})


def test_the_same_seed_gives_the_same_scores_and_another_seed_other_coins():
    said = statement(Site(SOUND, 400, 500), DELTA)
    first, again, other = (dry.transcripts(SOUND, said, 100, seed).seen.inside for seed in (0, 0, 1))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("mechanism", "plan", "named"),
    [("x", PLAN, "--mechanism: found x"), ("client_dp", AlikeRounds(2.0, 1.0, 1), "sampling_rate: found 2")],
)
def test_what_cannot_be_audited_is_bad_input_that_names_it(mechanism, plan, named):
    with pytest.raises(BadInput, match=named):
        dry.named(mechanism, plan, DELTA)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("none", {}),
        ("nbafl", {"clip": "element"}),
        ("global_dp", {"clip": "median"}),
        ("dpfl_bnn", {"gamma": 0.5}),
    ],
)
def test_what_states_no_epsilon_cannot_be_held_to_it(name, settings):
    with pytest.raises(BadInput, match="whose facts state no ε"):
        dry.audited(dry.named(name, SHORT, DELTA, settings), DELTA, 100)
