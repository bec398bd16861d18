import numpy as np
import pytest

from fedpriv.account import pld
from fedpriv.audit import dry
from fedpriv.audit.likelihood import Plan
from fedpriv.errors import BadInput
from fedpriv.mechanisms.clipping import clip
from fedpriv.mechanisms.sampling import Poisson
from fedpriv.schemes import ClientDP

PLAN, DELTA, WANTED = Plan(0.3, 2.0, 30), 1e-3, 4000


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
    "noise reused": "the noise of round 3 comes again in round 7",
    "denominator of the cohort": "the level of the noise changes",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault):
    found = dry.audited(FAULTS[fault], DELTA, WANTED)
    assert found.refuted and SAID.get(fault, "") in found.broken
    assert bool(found.broken) == (fault in SAID)


@pytest.mark.parametrize("fault", ["noise halved", "repeated clients", "inverted clipping"])
def test_where_more_leaks_than_is_stated_the_lower_bound_itself_exceeds_it(fault):
    found = dry.audited(FAULTS[fault], DELTA, WANTED)
    assert found.lower_bound > found.epsilon


@pytest.mark.parametrize("mechanism", ["client_dp", "global_dp"])
def test_a_sound_mechanism_is_not_refuted_and_most_of_its_epsilon_is_seen(mechanism):
    found = dry.audited(dry.named(mechanism, PLAN, DELTA), DELTA, WANTED)
    assert not found.refuted and found.epsilon == pld.epsilon(**PLAN._asdict(), delta=DELTA)
    assert 0.6 * found.epsilon < found.lower_bound <= found.epsilon


def test_the_same_seed_gives_the_same_bound_and_another_seed_other_coins():
    first, again, other = (dry.transcripts(SOUND, 100, seed).inside for seed in (0, 0, 1))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_everybody_is_in_every_round_where_the_rate_is_one():
    found = dry.audited(dry.named("client_dp", Plan(1.0, 4.0, 5), DELTA), DELTA, WANTED)
    assert 0.6 * found.epsilon < found.lower_bound <= found.epsilon


@pytest.mark.parametrize(
    ("mechanism", "plan", "named"),
    [("x", PLAN, "--mechanism: found x"), ("client_dp", Plan(2.0, 1.0, 1), "sampling_rate: found 2")],
)
def test_what_cannot_be_audited_is_bad_input_that_names_it(mechanism, plan, named):
    with pytest.raises(BadInput, match=named):
        dry.named(mechanism, plan, DELTA)
