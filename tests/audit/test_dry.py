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
from fedpriv.schemes import SCHEMES, Scheme

PLAN, DELTA, WANTED = AlikeRounds(0.3, 2.0, 30), 1e-3, 4000
SHORT = AlikeRounds(0.3, 2.0, 8)


SOUND = dry.mechanism_by_name("client_dp", PLAN, DELTA)


@pytest.mark.parametrize("mechanism", ["client_dp", "instance"])
def test_a_sound_mechanism_is_not_refuted_and_most_of_its_epsilon_is_seen(mechanism):
    found = dry.audit_mechanism(dry.mechanism_by_name(mechanism, PLAN, DELTA), DELTA, WANTED)
    assert not found.refuted and found.epsilon == pytest.approx(pld.epsilon(**PLAN._asdict(), delta=DELTA))
    assert 0.6 * found.epsilon < found.lower_bound <= found.epsilon


# What a sound scheme is run as, beside its own defaults, and in how many rounds.
SOUND_ONES = [
    *((name, {}) for name in ("client_dp", "global_dp", "instance")),
    *((name, {}) for name in ("joint", "split", "nbafl", "dpfl_bnn")),
    ("client_dp", {"cohort": {"law": "fixed"}}),
    ("client_dp", {"denominator": "present"}),
    ("client_dp", {"hooks": {"clip_upload": {"bound": 0.5}}}),
    ("none", {"hooks": {"clip_upload": {"bound": 0.5, "kind": "element"}, "upload_noise_std": 50.0}}),
    ("instance", {"per_example_clip": False}),
    ("split", {"clip_uploads": False, "noise_multiplier": 0.5}),
    ("nbafl", {"scaling": "document", "epsilon": 8.0}),
]


@pytest.mark.parametrize(("name", "settings"), SOUND_ONES, ids=str)
def test_no_sound_scheme_is_refuted(name, settings):
    found = dry.audit_mechanism(dry.mechanism_by_name(name, SHORT, DELTA, settings), DELTA, 800, seed=1)
    assert not found.refuted, found.broken
    assert 0 < found.epsilon < np.inf and found.lower_bound <= found.epsilon


@pytest.mark.parametrize(("name", "settings"), SOUND_ONES, ids=str)
def test_the_settings_of_a_mechanism_make_it_again_whatever_the_plan(name, settings):
    mechanism = dry.mechanism_by_name(name, SHORT, DELTA, settings)
    again = dry.mechanism_by_name(name, SHORT._replace(noise_multiplier=9.0), 1e-9, mechanism.settings)
    assert again._replace(plan=SHORT) == mechanism


def test_every_scheme_of_ours_with_an_epsilon_is_among_them():
    assert {name for name, _ in SOUND_ONES} >= set(SCHEMES.own)


def test_uploads_of_clients_who_always_come_show_most_of_what_they_are_said_to():
    found = dry.audit_mechanism(dry.mechanism_by_name("nbafl", AlikeRounds(1.0, 4.0, 10), DELTA), DELTA, 1200)
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
    mechanism = dry.mechanism_by_name("annealed", SHORT, DELTA, {"bound_l2": 0.3, "first": 3.0})
    found = dry.audit_mechanism(mechanism, DELTA, 2000)
    assert not found.refuted and 0 < found.lower_bound < found.epsilon
    with pytest.raises(BadInput, match="--mechanism annealed --set: first: is required"):
        dry.mechanism_by_name("annealed", SHORT, DELTA, {"bound_l2": 0.3})


def test_the_same_seed_gives_the_same_scores_and_another_seed_other_coins():
    said = statement(Site(SOUND, 400, 500), DELTA)
    first, again, other = (dry.transcripts(SOUND, said, 100, seed).inside for seed in (0, 0, 1))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("mechanism", "plan", "named"),
    [("x", PLAN, "--mechanism: found x"), ("client_dp", AlikeRounds(2.0, 1.0, 1), "sampling_rate: found 2")],
)
def test_what_cannot_be_audited_is_bad_input_that_names_it(mechanism, plan, named):
    with pytest.raises(BadInput, match=named):
        dry.mechanism_by_name(mechanism, plan, DELTA)


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
        dry.audit_mechanism(dry.mechanism_by_name(name, SHORT, DELTA, settings), DELTA, 100)
