"""The ledger of a run: ε against round for every accountant, each with everything that gives it meaning.

It is made from the trace and the sampled distances of a finished run, there or stored, and needs no
torch.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType

import numpy as np
import pandas as pd

from fedpriv.account.accountants import ACCOUNTANTS
from fedpriv.account.check import Trace, check_distances, checked_trace
from fedpriv.account.ranges import check
from fedpriv.account.statement import PRIVATE_NORM, Curve, PrivacyStatement, attacker_accuracy
from fedpriv.account.views import View, views
from fedpriv.frozen import Deltas

# Column -> dtype of ledger.parquet, in order; docs/accounting.md says what each means.
LEDGER = {
    "round": "int64",
    "accounting": "str",
    "accountant": "str",
    "composition": "str",
    "distance": "str",
    "unit": "str",
    "relation": "str",
    "sampling_law": "str",
    "sensitivity": "str",
    "delta": "float64",
    "epsilon": "float64",
    "order": "float64",
    "attacker_accuracy": "float64",
    "assumptions_met": "bool",
    "violation": "str",
    "kind": "str",
}


def ledger(
    trace: pd.DataFrame | Trace,
    delta: float | Deltas,
    distances: Mapping[str, np.ndarray] | None = None,
    ignore: Collection[str] = (),
) -> pd.DataFrame:
    """Return the ledger of a trace: columns `LEDGER`, one row for each round and way of counting.

    A trace has one row a round, or a step; what it leaves unsaid is completed (`fedpriv.account.check`),
    so that one of another framework needs four columns: `unit`, `sampling_law`, `sampling_rate`,
    `noise_multiplier`. `delta` is that of every unit, or `Deltas` of each. With sampled `distances` there
    are Bayesian estimates as well.

    An accountant has rows of the mechanisms that it can count, as the trace says what was released: of a
    mechanism that nobody can count there are none. A round without noise makes ε infinite from there on.
    Where the clipping norm was itself taken from private data, or a trace itself names a `violation`, no row
    meets its assumptions. Raises BadInput
    naming the column that is missing, makes no sense or is not known; `ignore` names those that say nothing
    about privacy.

    >>> trace = pd.DataFrame({"round": range(1, 1001), "unit": "client", "sampling_law": "poisson"})
    >>> costs = ledger(trace.assign(sampling_rate=0.01, noise_multiplier=1.0), 1e-5)
    >>> for statement in statements(costs)[::2]:
    ...     print(statement.accountant, statement.relation, round(statement.epsilon, 2))
    moments add_remove 2.54
    rdp add_remove 2.1
    pld add_remove 1.83
    """
    if not isinstance(delta, Deltas):
        delta = Deltas.model_construct(delta=delta, instance_delta=delta)
    distances = distances or {}
    check(delta=delta.delta, instance_delta=delta.instance_delta)
    trace = checked_trace(trace, ignore)
    check_distances(distances, trace)
    return count_views(views(trace, distances), trace, delta)


def count_views(views: Iterable[View], trace: Trace, delta: Deltas) -> pd.DataFrame:
    """Return what each accountant counts of the views that it can count, as rows of a ledger."""
    blocks: list[dict[str, np.ndarray]] = []
    for view in views:
        its = delta.of(view.unit)
        left = its - view.residual
        if left <= 0:
            view, left = view._replace(violation="δ does not pay for the rounds with more shares"), its
        for accountant in ACCOUNTANTS.values():
            if accountant.can_count(view):
                blocks += [rows(curve, view, trace, its) for curve in accountant.count(view, left)]
    if not blocks:  # nobody can count this mechanism
        return pd.DataFrame({name: [] for name in LEDGER}).astype(LEDGER)
    return pd.DataFrame({name: np.concatenate([block[name] for block in blocks]) for name in LEDGER})


def statements(
    ledger: pd.DataFrame, units: Mapping[str, int] = MappingProxyType({})
) -> list[PrivacyStatement]:
    """Privacy spent after the last round of a ledger: one `PrivacyStatement` for each way of counting.

    `units` says how many clients or instances there are (`units_of` a trace): with it a statement notes a δ
    at which an ε means nothing.
    """
    last = ledger[ledger["round"] == ledger["round"].max()]
    columns = [field.name for field in fields(PrivacyStatement) if field.name in LEDGER]
    rows = last[columns].to_dict("records")
    return [PrivacyStatement(**row, population=units.get(row["unit"])) for row in rows]


def units_of(trace: pd.DataFrame | Trace) -> dict[str, int]:
    """Return how many units of whom a sum is there are, by kind, as far as a trace says so."""
    if "population" not in trace or "unit" not in trace or not len(trace):
        return {}
    unit = "instance" if str(np.asarray(trace["unit"])[0]) == "instance" else "client"
    if unit == "instance" and "local_steps" in trace and (np.asarray(trace["local_steps"]) > 0).any():
        return {}  # the population is that of clients, who hold the instances
    return {unit: int(np.max(np.asarray(trace["population"])))}


def least_statements(statements: Sequence[PrivacyStatement]) -> list[PrivacyStatement]:
    """Return one ε for each view of whoever is protected: the least guarantee; without one, what comes next.

    That is the least ε that would be one, with the assumption that fails, and an estimate only then.
    """

    def rank(statement: PrivacyStatement) -> tuple[bool, bool, float]:
        return statement.status != "guarantee", statement.kind != "guarantee", statement.epsilon

    least: dict[tuple[str, str], PrivacyStatement] = {}
    for statement in statements:
        if statement.unit != "none":
            view = (statement.unit, statement.accounting)
            least[view] = min(least.get(view, statement), statement, key=rank)
    return [*least.values()]


def rows(curve: Curve, view: View, trace: Trace, delta: float) -> dict[str, np.ndarray]:
    """Return one curve of a trace as rows of a ledger, by column."""
    private = np.where(trace["clip_private"], PRIVATE_NORM, "")
    violation = curve.violation  # what fails in some round fails from there on
    for texts in (private, trace["violation"]):
        fails = texts != ""
        violation = np.where((fails.cumsum() > 0) & (violation == ""), texts[fails.argmax()], violation)
    columns = vars(curve) | {
        "round": trace["round"],
        "accounting": view.accounting,
        "unit": view.unit,
        "sampling_law": view.law,
        "delta": delta,
        "attacker_accuracy": attacker_accuracy(curve.epsilon),
        "assumptions_met": violation == "",
        "violation": violation,
    }
    kinds = {name: object if kind == "str" else kind for name, kind in LEDGER.items()}
    return {name: np.full(len(trace), columns[name], dtype=kind) for name, kind in kinds.items()}
