"""All that a round releases is attacked: what is sound passes, and every planted fault is found and named."""

from functools import lru_cache

import numpy as np
import pytest
import torch
from support import releases

from fedpriv.account import ACCOUNTANTS, Accountant
from fedpriv.audit import dry
from fedpriv.audit.clients import AlikeRounds
from fedpriv.audit.dry import audits, cohorts, kept
from fedpriv.audit.dry.attacks import statement
from fedpriv.audit.dry.normals import TESTS, Numbers
from fedpriv.audit.dry.rounds import Site
from fedpriv.errors import BadInput
from fedpriv.mechanisms.sampling import Fixed, Poisson
from fedpriv.schemes import SCHEMES
from fedpriv.streams import Streams
from fedpriv.trace import MECHANISMS, Released, TraceColumn

PLAN, DELTA = AlikeRounds(0.3, 2.0, 12), 1e-3
SOUND = dry.mechanism_by_name("client_dp", PLAN, DELTA)


@lru_cache
def stated():
    """Return what all of these mechanisms state of themselves, or more: the tests look at faults alone."""
    return statement(Site(SOUND, 400, 500), DELTA)


def with_scheme(kind):
    """Return the sound mechanism with another scheme, which says the same of itself."""
    return SOUND._replace(scheme=kind(clip_l2=1.0, noise_multiplier=2.0))


def named(suspicions):
    """Return the faults among suspicions in one line."""
    pairs = list(suspicions)
    return "; ".join(one.fault for _, one in pairs if one.pvalue < audits.ALPHA / len(pairs))


def faults_of(kind, transcripts):
    """Return all faults that a dry run finds in one line."""
    ran = dry.transcripts(with_scheme(kind), stated(), transcripts)
    return "; ".join((ran.faults | audits.faults_of_runs(ran, audits.ALPHA)).values())


JOINT = {
    releases.ZeroSum: "along all ones",
    releases.ZeroAlternating: "along alternating signs",
    releases.ZeroPerTensor: "along",
    releases.ZeroInBlocks: "is not independent",
    releases.FewDirections: "the length of the noise",
    releases.OneLength: "the length of the noise of rounds varies 0.0",
    releases.CommonScale: "the length of the noise",
    releases.ZerosHereAndThere: "numbers of the noise are zero",
    releases.CopiesHereAndThere: "numbers of the noise come again in the same run",
    releases.ComesAgainElsewhere: "comes again in the next round",
    releases.OnlySignsAreFresh: "come again in the same run",
    releases.HalfIsOfEveryRun: "comes again in another run",
    releases.Neighbours: "of numbers that are 1 apart",
}


def noise_of(kind, runs, site):
    """Return the noise of so many runs, over σ, of rounds in which a client sends nothing."""
    site, nobody = Site(with_scheme(kind), *site), torch.zeros(1, site[1])
    numbers = [
        site.play(nobody, np.zeros(1, int), round_number, {}, Streams(0, f"run {run}")).total.numpy() / 2
        for run in range(runs)
        for round_number in range(1, PLAN.rounds + 1)
    ]
    return Numbers(np.reshape(numbers, (runs, PLAN.rounds, -1)), 1e-6, (site.dimension // 2,) * 2)


@pytest.mark.parametrize(("kind", "fault"), JOINT.items(), ids=str)
def test_noise_of_another_joint_law_is_found(kind, fault):
    numbers = noise_of(kind, 10, (400, 500))
    assert fault in named((name, test(numbers)) for name, test in TESTS.items())


@pytest.mark.parametrize("kind", [releases.ZeroAlongOne, releases.LittleAlongOne])
def test_noise_that_is_less_along_a_direction_that_nobody_knows_is_found_in_more_rounds_than_numbers(kind):
    numbers = noise_of(kind, 40, (80, 100))
    assert "independent of others" in named((name, test(numbers)) for name, test in TESTS.items()) or (
        "along a direction that it suggests" in TESTS["suggested"](numbers).fault
        and TESTS["suggested"](numbers).pvalue < 1e-5
    )


COUNTS = {
    releases.CountOfLittleNoise: "the noise of c, which is kept, has",
    releases.CountOfLessNoise: "the noise of c, which is kept, has 0.",
    releases.CountNotCentred: "the noise of c, which is kept, has 0.",
    releases.CountWithTheSumsNoise: "comes again in number 1 of the sum",
    releases.CountNoiseEveryFourthRound: "of c, which is kept, of round",
    releases.CountNoiseOfEveryRun: "the noise of c, which is kept, has 0 times",
    releases.CountNoiseNowAndThen: "times the variance that count_noise_multiplier states",
    releases.CountOfNoFact: "moves with a client and no fact states its noise",
    releases.CountsLayers: "the noise of c, which is kept, has 0.",
    releases.InSteps: "comes in steps of 0.001 σ",
}
# What shows in more rounds only.
MORE = {
    releases.CountOfLessNoise,
    releases.CountWithTheSumsNoise,
    releases.CountNoiseNowAndThen,
    releases.CountsLayers,
}


@pytest.mark.parametrize(("kind", "fault"), COUNTS.items(), ids=str)
def test_a_second_release_that_is_not_what_its_fact_states_is_found(kind, fault):
    assert fault in faults_of(kind, 6000 if kind in MORE else 1600)


MADE = {
    releases.BroadcastsTheSum: "what the server sends shows clients beside what is released",
    releases.BroadcastsTheSize: "what the server sends shows clients",
    releases.StepsByTheSize: "the server's step shows clients",
    releases.KeepsTheSum: "rest, which is kept, shows clients",
    releases.SparseBeforeNoise: "one upload moves the sum by",
    releases.UploadsAgain: "what the server sends shows clients",
}


@pytest.mark.parametrize(("kind", "fault"), MADE.items(), ids=str)
def test_what_a_server_makes_of_more_than_a_release_is_found(kind, fault):
    if issubclass(kind, releases.NbAFL):
        mechanism = dry.mechanism_by_name("nbafl", PLAN, DELTA)
        mechanism = mechanism._replace(scheme=kind(**mechanism.scheme.model_dump()))
    else:
        mechanism = with_scheme(kind)
    of = statement(Site(mechanism, 400, 500), DELTA)
    site = Site(
        mechanism._replace(plan=PLAN._replace(rounds=3)), 400, 500, sees_uploads=of.attack == "upload"
    )
    faults, _ = audits.probed(site, of, Streams(0, "a run"))
    assert fault in "; ".join(faults.values())


COHORTS = {
    releases.OnePair: "clients 1 and 2 come together",
    releases.SomeTogetherSomeApart: "come together",
    releases.OfAList: "clients come in rounds",
    releases.SameInEveryRun: "the cohort of a round comes again in another run",
    releases.ComesAgain: "who comes, comes too often again 1 rounds later",
    releases.ByTurns: "within the even half",
    releases.Antithetic: "who comes, comes too seldom again 1 rounds later",
    releases.InShards: "cohorts differ",
    releases.OneAlways: "clients differ",
    releases.NoLargeCohort: "cohorts differ 0.",
    releases.RateOfTheRound: "cohorts differ",
    releases.InThrees: "clients 1, 2 and 3 do not come by chance",
    releases.StrataOfFixedSize: "within the first half of all differ 0.",
    releases.NeverTwoOfFixedSize: "clients 1 and 2 come together 0 times",
}


def drawn(law, runs):
    """Return who comes in so many runs of 20 rounds, of 400 clients."""
    came = [
        np.bincount(law.members(400, Streams(0, f"run {run}"), round_number), minlength=400)
        for run in range(runs)
        for round_number in range(1, 21)
    ]
    return np.reshape(came, (runs, 20, 400)).astype(np.uint8)


@pytest.mark.parametrize(("kind", "fault"), COHORTS.items(), ids=str)
def test_cohorts_of_another_joint_law_are_found(kind, fault):
    rate = 0.5 if kind is releases.InThrees else 0.3
    law = kind(size=120) if issubclass(kind, Fixed) else kind(rate=rate)
    came = drawn(law, 31 if kind is releases.NeverTwoOfFixedSize else 16)
    assert fault in named(cohorts.suspicions(law, came[1:], came[:1]))


SOUND_ONES = [
    releases.Adaptive,
    releases.CountsLayersSoundly,
    releases.DiscreteCount,
    releases.DiscreteGaussian,
    releases.Normalised,
    releases.PerTensor,
    releases.PublicMask,
    releases.Rotated,
    releases.ServerAdam,
    releases.Signs,
    releases.Sketch,
    releases.TopK,
]


@pytest.mark.parametrize("kind", SOUND_ONES)
def test_a_sound_mechanism_of_a_paper_is_not_refuted(kind):
    assert not faults_of(kind, 800)


def test_a_sketch_shows_most_of_its_epsilon_in_axes_of_its_own():
    found = dry.audit_mechanism(with_scheme(releases.Sketch), DELTA, 1600)
    assert not found.refuted and 0.6 * found.epsilon < found.lower_bound <= found.epsilon


@pytest.fixture
def laplace(monkeypatch):
    """A mechanism of one's own, and its accountant, which counts √d / scale a round."""
    column = TraceColumn("float64", "scale of the noise", 0.0)
    monkeypatch.setitem(MECHANISMS, "laplace", Released("Laplace noise", {"laplace_scale": column}))

    def curves(view, delta):
        epsilon = np.cumsum(500**0.5 / view.facts["laplace_scale"])
        return [view.curve(epsilon, np.full(len(epsilon), np.nan), "laplace", "C")]

    monkeypatch.setitem(ACCOUNTANTS, "laplace", Accountant(curves, mechanisms=("laplace",)))

    def audit(kind, **settings):
        monkeypatch.setitem(SCHEMES, "laplace", kind)
        return dry.audit_mechanism(dry.mechanism_by_name("laplace", PLAN, DELTA, settings), DELTA, 1600)

    return audit


def test_a_mechanism_of_ones_own_is_held_to_its_own_ledger(laplace):
    found = laplace(releases.Laplace, scale=2.0)
    assert found.about == "a client in the sums of laplace (laplace)" and not found.refuted
    assert found.epsilon == pytest.approx(12 * 500**0.5 / 2) and 0 < found.lower_bound < found.epsilon
    assert found.attacked == ("cohort", "bound", "combine")
    assert found.not_attacked == ("combine: the law of its noise, which only accountants of laplace know",)
    assert "comes again in round" in laplace(releases.LaplaceAgain).broken


def test_a_mechanism_of_ones_own_that_states_no_bound_is_refused_in_a_line(laplace):
    class Unbounded(releases.Laplace):
        mechanism = "laplace"

        def bound(self, updates, context):
            return super().bound(updates, context)[0], {}

    with pytest.raises(BadInput, match="found laplace with these settings, whose facts state no clip_l2"):
        laplace(Unbounded)


def test_what_was_attacked_is_named_and_what_was_not():
    found = dry.audit_mechanism(with_scheme(releases.TopK), DELTA, 400)
    assert found.scope == "Attacked: cohort, bound, combine, postprocess. Not attacked: nothing."
    assert found.as_dict()["attacked"] == ("cohort", "bound", "combine", "postprocess")
    found = dry.audit_mechanism(dry.mechanism_by_name("instance", PLAN, DELTA), DELTA, 400)
    assert found.as_dict()["not_attacked"] == ("gradient: the engine that computes it",)


LEVEL, TIMES = 0.3, 60


def sound_noise(rng, discrete):
    """Yield suspicions of sound noise, continuous or discrete, and of what is kept beside it."""
    noise = rng.standard_normal((3, 12, 40), dtype=np.float32)
    noise = np.rint(noise * 300) / 300 if discrete else noise
    numbers = Numbers(noise, 1e-6, (20, 20))
    yield from ((name, test(numbers)) for name, test in TESTS.items())
    of_count = rng.standard_normal((3, 12, 1)) * 10
    of_count = np.rint(of_count) if discrete else of_count
    yield from kept.suspicions(["c"], np.ones((3, 12, 1)), of_count, np.full((3, 12), 10.0), noise)


def sound_cohorts(rng, fixed):
    """Yield suspicions of sound cohorts."""
    law = Fixed(size=20) if fixed else Poisson(rate=0.3)
    came = np.zeros((4, 12, 60), dtype=np.uint8)
    for run in came:
        for row in run:
            row[law.draw(60, rng)] = 1
    yield from cohorts.suspicions(law, came[1:], came[:1])


@pytest.mark.parametrize("of_what", [sound_noise, sound_cohorts])
@pytest.mark.parametrize("other", [False, True])
def test_what_is_sound_is_refuted_no_oftener_than_the_level_says(of_what, other):
    refuted = 0
    for time in range(TIMES):
        tests = list(of_what(np.random.default_rng(time), other))
        refuted += min(one.pvalue for _, one in tests) < LEVEL / len(tests)
    assert refuted <= LEVEL * TIMES + 3 * (LEVEL * (1 - LEVEL) * TIMES) ** 0.5
