"""ε against round for every accountant: from the trace and the sampled distances of a finished run."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from fedpriv.account import ACCOUNTANTS, recount
from fedpriv.account.ranges import check
from fedpriv.account.response_views import ResponseView, curves, response_views
from fedpriv.account.spend import Curve, Deltas, attacker_accuracy
from fedpriv.account.trace_check import check_distances, check_trace, with_defaults
from fedpriv.account.view import View
from fedpriv.account.views import views
from fedpriv.errors import BadInput
from fedpriv.files import npz, parquet, summary

# Column -> dtype of ledger.parquet, in order; docs/accounting.md says what each means.
LEDGER = {
    "round": "int64",
    "accounting": "str",
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


def ledger(trace: pd.DataFrame, distances: Mapping[str, np.ndarray], deltas: Deltas) -> pd.DataFrame:
    """Return the ledger of a trace: columns `LEDGER`, one row for each round and way of counting.

    A round without noise makes ε infinite from there on. Where the clip bound was itself taken from private
    data no row meets its assumptions. Raises BadInput naming the column that makes no sense.

    Rows whose sensitivity is a number are those of `deltas.recount`, at evaluated rounds: of every σ at which
    a run with the same noise would have been this one (docs/readings.md).
    """
    check(delta=deltas.delta, instance_delta=deltas.instance_delta)
    check_trace(trace)
    check_distances(distances, trace)
    rows: list[dict[str, np.ndarray]] = []
    for view in views(trace, distances):
        delta = deltas.of(view.unit)
        left = delta - view.residual
        if left <= 0:  # δ cannot pay for it
            view, left = view._replace(assumption_holds=False), delta
        for accountant in ACCOUNTANTS.values():
            rows += [_rows(curve, view, trace, delta) for curve in accountant(view, left)]
    for response in response_views(trace):
        rows += [_rows(curve, response, trace, deltas.delta) for curve in curves(response, deltas.delta)]
    for view, curve in recount.curves(trace, distances, deltas.recount, deltas.delta):
        found = _rows(curve, view, trace, deltas.delta)
        evaluated = trace["test_accuracy"].notna().to_numpy()
        rows.append({name: values[evaluated] for name, values in found.items()})
    columns = {name: np.concatenate([one[name] for one in rows]) for name in LEDGER}
    return pd.DataFrame(columns).astype(LEDGER)


def account(directory: Path, deltas: Deltas) -> Path:
    """Read a run directory's trace and distances, write its ledger.parquet, return that path.

    Raises BadInput naming the file that is missing or corrupt; an existing ledger is then left alone.
    """
    sources = directory / "trace.parquet", directory / "distances.npz"
    trace = parquet.load(sources[0], allowed="the trace that a run wrote")
    if "holders" not in trace and (summary_file := directory / "summary.json").exists():
        # An older run says in its summary whether examples were dealt more than once.
        dealt = summary.load(summary_file).get("config", {}).get("partition", {})
        trace["holders"] = int(dealt.get("repeat") is False)
    distances = npz.everything(sources[1], "the distances that a run wrote")
    try:
        frame = ledger(with_defaults(trace), distances, deltas)
    except BadInput as error:
        raise BadInput(f"{directory}: {error}") from None
    return parquet.save(frame, directory / "ledger.parquet", sources)


def _rows(
    curve: Curve, view: View | ResponseView, trace: pd.DataFrame, delta: float
) -> dict[str, np.ndarray]:
    """Return one curve as rows of the ledger, by column."""
    met = curve.assumptions_met & ~trace["clip_private"].to_numpy(dtype=bool).cumsum().astype(bool)
    columns = vars(curve) | {
        "round": trace["round"],
        "accounting": view.accounting,
        "unit": view.unit,
        "sampling_law": view.law,
        "delta": delta,
        "attacker_accuracy": attacker_accuracy(curve.epsilon),
        "assumptions_met": met,
    }
    kinds = {name: object if kind == "str" else kind for name, kind in LEDGER.items()}
    return {name: np.full(len(trace), columns[name], dtype=kind) for name, kind in kinds.items()}
