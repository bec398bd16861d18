import numpy as np
import pytest

from fedpriv.account import pld
from fedpriv.audit import dry
from fedpriv.audit.clients import AlikeRounds
from fedpriv.audit.dry.attacks import statement
from fedpriv.audit.dry.rounds import Site
from fedpriv.errors import BadInput
from fedpriv.mechanisms.clipping import clip
from fedpriv.mechanisms.correlated import MATRICES
from fedpriv.mechanisms.gaussian import gaussian_mean
from fedpriv.mechanisms.sampling import Spaced
from fedpriv.schemes import SCHEMES, Scheme
from fedpriv.schemes.dp_ftrl import DpFtrl

PLAN, DELTA, WANTED = AlikeRounds(0.3, 2.0, 30), 1e-3, 4000
SHORT = AlikeRounds(0.3, 2.0, 8)


SOUND = dry.mechanism_by_name("client_dp", PLAN, DELTA)


def test_clipping_that_is_no_clipping_is_found():
    found = dry.audit_mechanism(dry.mechanism_by_name("global_dp_released", PLAN, DELTA), DELTA, WANTED)
    assert found.refuted and "in units of the bound" in found.broken and found.lower_bound > found.epsilon


@pytest.mark.parametrize("mechanism", ["client_dp", "instance"])
def test_a_sound_mechanism_is_not_refuted_and_most_of_its_epsilon_is_seen(mechanism):
    found = dry.audit_mechanism(dry.mechanism_by_name(mechanism, PLAN, DELTA), DELTA, WANTED)
    assert not found.refuted and found.epsilon == pytest.approx(pld.epsilon(**PLAN._asdict(), delta=DELTA))
    assert 0.6 * found.epsilon < found.lower_bound <= found.epsilon


# What a sound scheme is run as, beside its own defaults, and in how many rounds.
SOUND_ONES = [
    *((name, {}) for name in ("client_dp", "adaptive_dp", "global_dp", "instance")),
    *((name, {}) for name in ("joint", "split", "nbafl", "dpfl_bnn")),
    ("client_dp", {"cohort": {"law": "fixed"}}),
    ("client_dp", {"cohort": {"law": "spaced"}}),
    ("dp_ftrl", {}),
    ("dp_ftrl", {"matrix": "banded", "cohort": {"law": "poisson"}}),
    ("dp_ftrl", {"matrix": "blt"}),
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


def test_every_scheme_of_ours_with_an_epsilon_is_among_them():
    assert {name for name, _ in SOUND_ONES} >= set(SCHEMES.own)


def test_uploads_of_clients_who_always_come_show_most_of_what_they_are_said_to():
    found = dry.audit_mechanism(
        dry.mechanism_by_name("nbafl", AlikeRounds(1.0, 4.0, 10), DELTA), DELTA, WANTED
    )
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
    first, again, other = (dry.transcripts(SOUND, said, 100, seed).seen.inside for seed in (0, 0, 1))
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


# --- correlated noise, and clients who come in turn ---------------------------------------------------------

IN_TURN = AlikeRounds(0.1, 3.0, 20)


@pytest.mark.parametrize("matrix", MATRICES)
def test_of_correlated_noise_most_of_epsilon_is_seen_and_no_more(matrix):
    found = dry.audit_mechanism(
        dry.mechanism_by_name("dp_ftrl", IN_TURN, DELTA, {"matrix": matrix}), DELTA, 6000
    )
    assert not found.refuted and 0.4 * found.epsilon < found.lower_bound <= found.epsilon


class Halved(DpFtrl):
    """Half of the noise that is stated."""

    mechanism = "correlated_gaussian"

    def combine(self, bounded, context):
        quiet = self.model_copy(update={"noise_multiplier": self.noise_multiplier / 2})
        step, _ = DpFtrl.combine(quiet, bounded, context)
        return step, DpFtrl.combine(self, bounded, context)[1]


class Independent(DpFtrl):
    """Noise that is not the stated matrix's."""

    mechanism = "correlated_gaussian"

    def combine(self, bounded, context):
        step, facts = super().combine(bounded, context)
        noise = context.noise("noise").like(step) * facts["noise_std"]
        return (bounded.updates.sum(0) + noise) / context.expected, facts


@pytest.mark.parametrize(
    ("scheme", "said"),
    [(Halved, "the noise has 0.25"), (Independent, "comes again in round")],
)
def test_noise_that_is_not_that_of_the_stated_matrix_is_found(scheme, said):
    mechanism = dry.mechanism_by_name("dp_ftrl", IN_TURN, DELTA)
    wrong = scheme(clip_l2=1.0, noise_multiplier=3.0)
    found = dry.audit_mechanism(mechanism._replace(scheme=wrong, stated=mechanism.scheme), DELTA, 1000)
    assert found.refuted and said in found.broken


class Jumping(Spaced):
    """Turns that are not kept: every other round has the cohort of the round before."""

    def members(self, population, streams, round):
        return super().members(population, streams, round - round % 2)


def test_a_client_that_comes_out_of_turn_is_found():
    mechanism = dry.mechanism_by_name("dp_ftrl", IN_TURN, DELTA)
    found = dry.audit_mechanism(mechanism._replace(law=Jumping(size=40)), DELTA, 1000)
    assert found.refuted and "a client comes again after 1 rounds" in found.broken
