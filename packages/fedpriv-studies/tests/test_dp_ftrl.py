"""DP-FTRL: what it cannot be run with, and what it is not planned or attacked as."""

import pytest
from support.tiny import WITHOUT_SCHEME

from fedpriv.audit import dry
from fedpriv.audit.clients import AlikeRounds
from fedpriv.config.run import Run
from fedpriv.errors import BadInput
from fedpriv.frozen import parse


def test_noise_that_is_drawn_again_cannot_be_the_operating_systems():
    scheme = {"name": "dp_ftrl", "clip_l2": 0.5, "noise_multiplier": 1.0}
    with pytest.raises(BadInput, match="secure_noise: found true, allowed: false"):
        parse(Run.model_validate, WITHOUT_SCHEME | {"scheme": scheme, "secure_noise": True}, "a run")


def test_clients_in_turn_are_not_planned_as_sampled_ones():
    scheme = {"name": "client_dp", "clip_l2": 0.5, "noise_multiplier": {"epsilon": 1}}
    with pytest.raises(BadInput, match="found a budget, allowed: a number"):
        parse(
            Run.model_validate,
            WITHOUT_SCHEME | {"scheme": scheme, "cohort": {"law": "spaced", "size": 30}},
            "a run",
        )
    scheme["noise_multiplier"]["accountant"] = "matrix"
    with pytest.raises(BadInput, match="accountant: found matrix, allowed: moments, rdp, pld"):
        parse(Run.model_validate, WITHOUT_SCHEME | {"scheme": scheme}, "a run")


@pytest.mark.parametrize(
    ("name", "settings"),
    [("client_dp", {"cohort": {"law": "spaced"}}), ("dp_ftrl", {"cohort": {"law": "poisson"}})],
    ids=str,
)
def test_rounds_that_depend_on_each_other_are_not_run_dry(name, settings):
    mechanism = dry.mechanism_by_name(name, AlikeRounds(0.3, 2.0, 8), 1e-3, settings)
    with pytest.raises(BadInput, match=f"found {name} .* whose rounds depend on each other"):
        dry.audit_mechanism(mechanism, 1e-3, 100)
