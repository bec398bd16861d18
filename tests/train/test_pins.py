import json
from pathlib import Path

import numpy as np
import pytest
from pin import arithmetic, computed, identities
from support.made_run import BY_SCHEME

from fedpriv.frozen import RESULTS_VERSION
from fedpriv.paper.paper import PAPERS
from fedpriv.schemes import SCHEMES
from fedpriv.store.machine import engines

PINS = json.loads((Path(__file__).parent / "pins.json").read_text())


def test_the_pins_are_those_of_the_results_version_that_the_code_says_it_has():
    assert PINS["results_version"] == RESULTS_VERSION


def test_every_scheme_is_pinned():
    assert set(BY_SCHEME) == set(SCHEMES) <= set(PINS["runs"])


def test_the_identity_of_every_run_of_every_preset_is_what_it_was():
    found = identities()
    assert found == {name: PINS["identities"][name] for name in found}
    assert found.keys() == PINS["identities"].keys() or "guarantees" not in PAPERS  # fedpriv-studies


@pytest.mark.parametrize("name", BY_SCHEME)
def test_a_short_run_computes_what_it_did_to_the_last_bit_where_the_pins_were_taken(name, tmp_path):
    found, pinned = computed(name, tmp_path), PINS["runs"][name]
    assert set(found["numbers"]) == set(pinned["numbers"])
    # Elsewhere another processor or torch rounds otherwise, and so does what is there without an engine: the
    # numbers must do; of a binary network those of the first round, for a sign that rounding turns over is
    # another weight ever after.
    here = PINS["arithmetic"] == arithmetic() and bool(engines())
    rounds = 1 if name == "dpfl_bnn" and not here else None
    for key, numbers in pinned["numbers"].items():
        alike = np.atleast_1d(found["numbers"][key])[:rounds], np.atleast_1d(numbers)[:rounds]
        np.testing.assert_allclose(*alike, rtol=5e-3, equal_nan=True)
    if here:
        assert found["digest"] == pinned["digest"]
