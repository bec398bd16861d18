"""A run that could not be trained, or not be accounted, is refused before anything is made for it."""

import pytest

from fedpriv.account.check import NUMBERS
from fedpriv.config.run import Run
from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.paper.paper import merge

RUN = {
    "dataset": "mnist",
    "model": {"name": "cnn"},
    "scheme": {"name": "client_dp", "clip_l2": 1.0, "noise_multiplier": 1.0},
    "partition": {"law": "iid", "clients": 4, "examples": 10},
    "cohort": {"law": "poisson", "rate": 0.5},
}


def run(patch):
    """Return the run with a patch over it."""
    return parse(Run.model_validate, merge(RUN, patch), "run")


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ({"cohort": {"law": "fixed", "size": 5}}, ("cohort.size", "found 5", "at most 4 clients")),
        ({"cohort": {"rate": 9e-10}}, ("cohort.rate: found 9e-10, allowed: at least 1e-09",)),
        ({"model": {"name": "cnn", "widths": [1] * 17}}, ("model.widths", "16")),
        ({"probe": {"panel": 10**5}}, ("probe.panel: found 100000, allowed: at most 10,000",)),
        ({"photos": {"copies": 10**9}}, ("photos.copies", "10000")),
    ],
)
def test_a_run_that_could_not_be_trained_or_accounted_is_refused_by_its_key(patch, words):
    with pytest.raises(BadInput) as error:
        run(patch)
    assert all(word in str(error.value) for word in words), error.value
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("rate", [1e-9, 1.0])
def test_every_rate_that_may_be_trained_with_can_be_accounted(rate):
    assert run({"cohort": {"rate": rate}})
    fits, _ = NUMBERS["sampling_rate"]
    assert fits(rate)
