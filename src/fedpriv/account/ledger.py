"""ε against round for every accountant: from the trace and the sampled distances of a finished run."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from pyarrow import ArrowException

from fedpriv.account import ACCOUNTANTS
from fedpriv.account.bayesian import DISTANCES
from fedpriv.account.spend import Curve, attacker_accuracy
from fedpriv.atomic import writing
from fedpriv.errors import BadInput

# Column -> dtype of ledger.parquet, in order; docs/accounting.md says what each means.
LEDGER = {
    "round": "int64",
    "accountant": "str",
    "composition": "str",
    "distance": "str",
    "right_term": "str",
    "unit": "str",
    "relation": "str",
    "sampling_law": "str",
    "sensitivity": "str",
    "delta": "float64",
    "epsilon": "float64",
    "order": "float64",
    "attacker_accuracy": "float64",
    "assumptions_met": "bool",
    "kind": "str",
}

# What the accountants read of a trace, and the values they can work with.
NUMBERS = {
    "population": (1, np.inf),
    "cohort_size": (0, np.inf),
    "sampling_rate": (1e-9, 1),
    "clip_l2": (0, np.inf),
    "noise_multiplier": (0, np.inf),
    "noise_std": (0, np.inf),
}
WORDS = {"unit": ("client", "instance", "none"), "sampling_law": ("poisson", "fixed", "full")}


def ledger(trace: pd.DataFrame, distances: Mapping[str, np.ndarray], delta: float) -> pd.DataFrame:
    """Return the ledger of a trace: columns `LEDGER`, one row for each round and way of counting.

    A round without noise makes ε infinite from there on. Where the clip bound was itself taken from private
    data no row meets its assumptions. Raises BadInput naming the column that makes no sense.
    """
    if not 0 < delta < 1:
        raise BadInput(f"delta: found {delta:g}, allowed: above 0 and below 1")
    check_trace(trace)
    check_distances(distances, len(trace))
    curves = [curve for accountant in ACCOUNTANTS.values() for curve in accountant(trace, distances, delta)]
    return pd.concat([_rows(curve, trace, delta) for curve in curves], ignore_index=True)


def account(directory: Path, delta: float) -> Path:
    """Read a run directory's trace and distances, write its ledger.parquet, return that path.

    Raises BadInput naming the file that is missing or corrupt; an existing ledger is then left alone.
    """
    source = directory / "trace.parquet"
    try:
        trace = pd.read_parquet(source)
    except (OSError, ArrowException) as error:
        raise _unreadable(source, error, "the trace that a run wrote") from None
    source = directory / "distances.npz"
    try:
        with np.load(source) as arrays:
            distances = {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise _unreadable(source, error, "the distances that a run wrote") from None
    try:
        frame = ledger(trace, distances, delta)
    except BadInput as error:
        raise BadInput(f"{directory}: {error}") from None
    with writing(directory / "ledger.parquet") as path:
        frame.to_parquet(path, index=False)
    return directory / "ledger.parquet"


def check_trace(trace: pd.DataFrame) -> None:
    """Raise BadInput naming the first column of a trace that cannot be what happened."""
    for name in ("round", "clip_private", *NUMBERS, *WORDS):
        if name not in trace:
            raise BadInput(f"trace: found no column {name}, allowed: the columns that a run writes")
    if not len(trace) or not np.array_equal(trace["round"], np.arange(1, len(trace) + 1)):
        raise BadInput(f"trace: round: found {len(trace)} rows not numbered 1, 2, 3, ..., allowed: no gaps")
    for name, (low, high) in NUMBERS.items():
        values = trace[name].to_numpy(dtype=np.float64)
        wrong = values[~((values >= low) & (values <= high))]
        if len(wrong):
            raise BadInput(f"trace: {name}: found {wrong[0]:g}, allowed: {low} to {high}")
    for name, allowed in WORDS.items():
        found = sorted({str(word) for word in trace[name]})
        if len(found) > 1 or found[0] not in allowed:
            raise BadInput(f"trace: {name}: found {', '.join(found)}, allowed: one of {', '.join(allowed)}")
    multiplier, clip, std = (trace[name].to_numpy() for name in ("noise_multiplier", "clip_l2", "noise_std"))
    noisy = multiplier > 0
    if (std[~noisy] != 0).any() or not np.allclose(std[noisy], multiplier[noisy] * clip[noisy], rtol=1e-6):
        raise BadInput(
            "trace: noise_std: found another value than noise_multiplier × clip_l2, allowed: that product"
        )


def check_distances(distances: Mapping[str, np.ndarray], rounds: int) -> None:
    """Raise BadInput naming the first array that is not `[rounds, m]` of distances or NaN."""
    for name in (prefix + distance for prefix in ("", "panel_") for distance in DISTANCES):
        array = distances.get(name, np.empty((rounds, 0)))
        if array.ndim != 2 or len(array) != rounds:
            raise BadInput(
                f"distances: {name}: found shape {array.shape}, allowed: one row for each of {rounds} rounds"
            )
        if (array < 0).any() or np.isinf(array).any():
            raise BadInput(
                f"distances: {name}: found a negative or infinite distance, allowed: finite, at least 0"
            )


def _rows(curve: Curve, trace: pd.DataFrame, delta: float) -> pd.DataFrame:
    """Return one curve as rows of the ledger."""
    met = curve.assumptions_met & ~trace["clip_private"].to_numpy(dtype=bool).cumsum().astype(bool)
    columns = {
        "round": trace["round"],
        "accountant": curve.accountant,
        "composition": curve.composition,
        "distance": curve.distance,
        "right_term": curve.right_term,
        "unit": trace["unit"],
        "relation": curve.relation,
        "sampling_law": trace["sampling_law"],
        "sensitivity": curve.sensitivity,
        "delta": delta,
        "epsilon": curve.epsilon,
        "order": curve.order,
        "attacker_accuracy": attacker_accuracy(curve.epsilon),
        "assumptions_met": met,
        "kind": curve.kind,
    }
    return pd.DataFrame(columns, columns=list(LEDGER)).astype(LEDGER)


def _unreadable(path: Path, error: Exception, allowed: str) -> BadInput:
    reason = "no such file" if isinstance(error, FileNotFoundError) else "a file that cannot be read"
    return BadInput(f"{path}: found {reason}, allowed: {allowed}")
