"""DP-FTRL: its plans meet their budgets, and dry runs find what it does not do as it says."""

import numpy as np
import pytest
from fedpriv_studies.correlated import MATRICES
from fedpriv_studies.dp_ftrl import DpFtrl
from fedpriv_studies.spaced import Spaced

from fedpriv.account import epsilon
from fedpriv.audit import dry
from fedpriv.audit.clients import AlikeRounds
from fedpriv.config.run import Run
from fedpriv.errors import BadInput
from fedpriv.frozen import parse

RUN = {
    "dataset": "digits",
    "partition": {"law": "iid", "clients": 100, "examples": 10, "repeat": True},
    "model": "cnn",
    "rounds": 50,
    "account": {"delta": 1e-3},
    "cohort": {"law": "poisson", "rate": 0.3},
}


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("cohort", [{"law": "spaced", "size": 30}, {"law": "full"}])
def test_of_correlated_noise_the_multiplier_meets_the_budget_as_well(matrix, cohort):
    scheme = {"name": "dp_ftrl", "clip_l2": 0.5, "noise_multiplier": {"epsilon": 3}, "matrix": matrix}
    run = parse(Run.model_validate, RUN | {"scheme": scheme, "cohort": cohort}, "a run")
    size = cohort.get("size", 100)
    plan = {"sampling_rate": size / 100, "rounds": 50, "delta": 1e-3, "accountant": "matrix"}
    sigma = run.scheme.noise_multiplier
    assert epsilon(noise_multiplier=sigma, matrix=matrix, **plan).epsilon <= 3
    assert epsilon(noise_multiplier=0.998 * sigma, matrix=matrix, **plan).epsilon > 3


def test_noise_that_is_drawn_again_cannot_be_the_operating_systems():
    scheme = {"name": "dp_ftrl", "clip_l2": 0.5, "noise_multiplier": 1.0}
    with pytest.raises(BadInput, match="secure_noise: found true, allowed: false"):
        parse(Run.model_validate, RUN | {"scheme": scheme, "secure_noise": True}, "a run")


def test_clients_in_turn_are_not_planned_as_sampled_ones():
    scheme = {"name": "client_dp", "clip_l2": 0.5, "noise_multiplier": {"epsilon": 1}}
    with pytest.raises(BadInput, match="found a budget, allowed: a number"):
        parse(Run.model_validate, RUN | {"scheme": scheme, "cohort": {"law": "spaced", "size": 30}}, "a run")
    scheme["noise_multiplier"]["accountant"] = "matrix"
    with pytest.raises(BadInput, match="accountant: found matrix, allowed: moments, rdp, pld"):
        parse(Run.model_validate, RUN | {"scheme": scheme}, "a run")


DELTA, SHORT = 1e-3, AlikeRounds(0.3, 2.0, 8)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("client_dp", {"cohort": {"law": "spaced"}}),
        ("dp_ftrl", {}),
        ("dp_ftrl", {"matrix": "banded", "cohort": {"law": "poisson"}}),
        ("dp_ftrl", {"matrix": "blt"}),
    ],
    ids=str,
)
def test_no_sound_scheme_is_refuted(name, settings):
    found = dry.audit_mechanism(dry.mechanism_by_name(name, SHORT, DELTA, settings), DELTA, 800, seed=1)
    assert not found.refuted, found.broken
    assert 0 < found.epsilon < np.inf and found.lower_bound <= found.epsilon


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
