"""Dry runs where noise is correlated and where clients come in turn."""

import pytest

from fedpriv.audit import dry
from fedpriv.audit.clients import AlikeRounds
from fedpriv.mechanisms.correlated import MATRICES
from fedpriv.mechanisms.sampling import Spaced
from fedpriv.schemes.dp_ftrl import DpFtrl

DELTA, WANTED = 1e-3, 6000
PLAN = AlikeRounds(0.1, 3.0, 20)


@pytest.mark.parametrize("matrix", MATRICES)
def test_of_correlated_noise_most_of_epsilon_is_seen_and_no_more(matrix):
    found = dry.audited(dry.named("dp_ftrl", PLAN, DELTA, {"matrix": matrix}), DELTA, WANTED)
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
    mechanism = dry.named("dp_ftrl", PLAN, DELTA)
    wrong = scheme(clip_l2=1.0, noise_multiplier=3.0)
    found = dry.audited(mechanism._replace(scheme=wrong, stated=mechanism.scheme), DELTA, 1000)
    assert found.refuted and said in found.broken


class Jumping(Spaced):
    """Turns that are not kept: every other round has the cohort of the round before."""

    def members(self, population, streams, round):
        return super().members(population, streams, round - round % 2)


def test_a_client_that_comes_out_of_turn_is_found():
    mechanism = dry.named("dp_ftrl", PLAN, DELTA)
    found = dry.audited(mechanism._replace(law=Jumping(size=40)), DELTA, 1000)
    assert found.refuted and "a client comes again after 1 rounds" in found.broken
