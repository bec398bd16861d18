"""Whatever stands in a trace, it is accounted for or refused in a line that names the column."""

import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from fedpriv.account import Deltas
from fedpriv.account.check import FLAGS, NUMBERS, WORDS
from fedpriv.account.ledgers import ledger
from fedpriv.errors import BadInput

DELTAS = Deltas(delta=1e-5, instance_delta=1e-6)

STRANGE = [np.nan, np.inf, -np.inf, -1.0, 0.0, 2.5, 5e-324, 1e300, 2**62, "abc", "0.1", None, True, 1j, b"x"]
STRANGE += [[1], pd.Timestamp(0), pd.NA]


@pytest.fixture
def made(make_trace, make_instances) -> dict[str, Callable[[], pd.DataFrame]]:
    """Return builders of traces of two rounds."""
    turns = {"participations": 0, "rounds_apart": 1}
    return {
        "joint": lambda: make_instances(2, joint=True).assign(**turns),
        "upload": lambda: make_trace(2).assign(upload_l2=1.0, upload_noise_std=2.0, **turns),
        "bits": lambda: make_trace(2, 1.0, 0.0, law="full", clip=np.inf, population=10).assign(
            mechanism="randomized_response", gamma=0.1, flips="coordinate", noisy_bits=100
        ),
    }


def accounted(trace: pd.DataFrame) -> bool:
    """Return whether a trace is accounted for, soundly; it is refused in one short line otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            epsilon = ledger(trace, DELTAS)["epsilon"]
        except BadInput as error:
            line = str(error)
        else:
            assert (epsilon >= 0).all()
            return True
    assert line.startswith("trace: ") and ", allowed: " in line
    assert "\n" not in line and len(line) < 300
    return False


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        *(("joint", column) for column in ("round", *NUMBERS, *WORDS, *FLAGS)),
        *(("upload", column) for column in NUMBERS if "instance" not in column and "rate_" not in column),
        *(("bits", column) for column in ("gamma", "noisy_bits", "flips", "cohort_size", "clear_values")),
    ],
)
def test_whatever_stands_in_a_column_is_accounted_for_or_refused(made, kind: str, column: str) -> None:
    trace, refused = made[kind](), 0
    for index, value in enumerate(STRANGE):
        values = trace[column].astype(object).tolist()
        values[index % 2 :] = [value] * len(values[index % 2 :])  # the second round alone, or both
        refused += not accounted(trace.assign(**{column: pd.Series(values, dtype=object).infer_objects()}))
    assert refused > len(STRANGE) / 2
    for dtype in ("category", "string", "Float64", "float32"):
        try:
            other = trace.astype({column: dtype})
        except (TypeError, ValueError):
            continue
        accounted(other)


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        ({"sampling_law": "full"}, r"sampling_rate: found 0.1, allowed: 1, .* sampling_law full"),
        ({"sampling_law": "fixed", "sampling_rate": 0.2}, "sampling_rate: found 0.2, allowed: 0.1, .* fixed"),
        ({"cohort_size": 1001}, "cohort_size: found 1001, allowed: at most the population of 1000"),
        ({"noise_shares": 100}, "noise_shares: found 100, allowed: at most 99, those of the others"),
        ({"sampling_rate": "much"}, "sampling_rate: found 'much', allowed: numbers, above 0 and at most 1"),
        ({"instance_noise_std": 1e-9}, "instance_noise_std: found another value"),
        ({"unit": "instance", "holders": 3}, "holders: found 3 with unit instance and no local_steps, allow"),
        ({"noise_std": 1e-9}, "noise_std: found another value"),
        ({"per_example_clip": "False"}, "per_example_clip: found 'False', allowed: True or False"),
    ],
)
def test_what_cannot_have_happened_is_named(make_trace, facts: dict[str, object], line: str) -> None:
    with pytest.raises(BadInput, match=rf"^trace: {line}"):
        ledger(make_trace(2).assign(**facts), DELTAS)


@pytest.mark.parametrize("rate", [1e-9, 1e-12, 1e-100, 5e-324])
def test_the_smallest_rates_are_accounted_for_and_never_cost_more(make_trace, rate: float) -> None:
    found = ledger(make_trace(3, rate).assign(cohort_size=0), DELTAS)
    usual = ledger(make_trace(3, 1e-6).assign(cohort_size=0), DELTAS)
    assert (found["epsilon"] <= usual["epsilon"]).all()


@pytest.mark.parametrize("std", [0.0, 2.0])
def test_a_bound_of_zero_beneath_an_uploads_noise_promises_nothing(make_trace, std: float) -> None:
    frame = ledger(make_trace(2).assign(upload_l2=[0.0, 1.0], upload_noise_std=[std, 2.0]), DELTAS)
    assert np.isinf(frame.loc[frame["accounting"] == "upload", "epsilon"]).all()
