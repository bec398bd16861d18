"""Each of these faults breaks what its facts state: a dry run finds it."""

import pytest
from support import dry_faults as faults

from fedpriv.audit import dry
from fedpriv.audit.clients import AlikeRounds
from fedpriv.mechanisms.sampling import Poisson

PLAN, DELTA, WANTED = AlikeRounds(0.3, 2.0, 12), 1e-3, 400
SAID = {
    faults.HalfVariance: "the noise has 0.5",
    faults.LayersShareNoise: "is not independent",
    faults.NoNoiseInOneRound: "the noise of a round has",
    faults.NoiseOfRealisedCohort: "one upload moves the sum by 1.0",
    faults.NoiseOfTheRoundAlone: "comes again in another run",
    faults.NoiseEveryFourthRound: "the noise of round",
    faults.NoiseOfTheData: "the noise is another where other updates are sent",
    faults.CorrelatedOverRounds: "comes again in round",
    faults.StudentT: "the noise is not normal",
    faults.LittleNoiseHereAndThere: "the noise is not normal",
    faults.OutsideOfStreams: "not from the run's streams",
    faults.CountsTwice: "one upload moves the sum by 1.",
    faults.ClipsTheMean: "an upload of norm",
    faults.ClipsPerLayer: "has norm 1.4",
    faults.ClipsOnlyLarge: "an upload of norm 3 has norm 3",
    faults.ForgetsWhatIsNoNumber: "an upload that is no number reaches the sum",
    faults.LoosensAfterRoundTen: "has norm 1.49",
    faults.Remembers: "share, which is kept after round",
    faults.Sticky: "and clients differ",
    faults.ComesTooOften: "a client comes with probability 0.3",
    faults.FixedSize: "cohorts differ 0.0",
    faults.InPairs: "and cohorts differ 1.5",
    faults.Favourites: "and clients differ",
    faults.DrawsTwice: "a client is drawn more than once",
    faults.SharesUploadNoise: "variance",
    faults.FlipsTooFew: "the mean of the noise",
    faults.ForgetsExamples: "one upload moves the sum by 1.5 times",
}
# What shows in many rounds only.
MANY = {
    faults.LittleNoiseHereAndThere,
    *(one for one in SAID if issubclass(one, Poisson)),
}
OF = {faults.DpflBnn: "dpfl_bnn", faults.NbAFL: "nbafl"}
OF |= {faults.Instance: "instance", faults.ClientDP: "client_dp"}


def planted(fault):
    """Return the mechanism with the fault, whose facts are those of the sound one."""
    if issubclass(fault, Poisson):
        return dry.mechanism_by_name("client_dp", PLAN, DELTA)._replace(law=fault(rate=PLAN.sampling_rate))
    sound = dry.mechanism_by_name(
        next(name for kind, name in OF.items() if issubclass(fault, kind)), PLAN, DELTA
    )
    return sound._replace(scheme=fault(**sound.scheme.model_dump()))


@pytest.mark.parametrize("fault", SAID, ids=lambda one: one.__name__)
def test_a_dry_run_finds(fault):
    found = dry.audit_mechanism(planted(fault), DELTA, 4000 if fault in MANY else WANTED)
    assert found.refuted and SAID[fault] in found.broken


@pytest.mark.parametrize("fault", [faults.HalfVariance, faults.DrawsTwice])
def test_where_more_leaks_than_is_stated_the_lower_bound_itself_exceeds_it(fault):
    found = dry.audit_mechanism(planted(fault), DELTA, 8000)
    assert found.lower_bound > found.epsilon


def test_a_cohort_of_another_size_than_its_law_has_is_found():
    sound = dry.mechanism_by_name("client_dp", PLAN, DELTA, {"cohort": {"law": "fixed"}})
    found = dry.audit_mechanism(sound._replace(law=faults.AtTimesFewer(size=sound.law.size)), DELTA, 4000)
    assert found.refuted and "a cohort is not of the" in found.broken
