"""What became of the accuracy when one thing or another was changed."""

import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import pandas as pd

from fedpriv.paper.spends import Measure
from fedpriv.report import cells
from fedpriv.report.declared_runs import AblationTable, Line
from fedpriv.report.reading import MEASURES, present
from fedpriv.report.render import Table
from fedpriv.report.run_table import ACCURACIES, HOW_READ, Column, run_table


def ablation_table(frame: pd.DataFrame, declared: AblationTable, name: str) -> Table:
    """Return a line a run, the reference first: the config keys that differ, accuracies, differences."""
    others = [
        run for run in frame["run"].unique() if fnmatchcase(run, declared.match) and run != declared.reference
    ]
    lines = [Line(run=run, label=run) for run in (declared.reference, *others)]
    columns = [*ACCURACIES]
    if present(frame, declared.reference):
        measures: tuple[Measure, ...] = ("last", "best_drawn")
        for measure, column in zip(measures, ACCURACIES, strict=True):
            columns.append(gain(measure, column.label, declared.reference))
    missing = [] if others else [f"Not run in this preset: {declared.match}."]
    notes = (f"Differences: points over {declared.reference}, paired by seed.", HOW_READ, *missing)
    lead = differing(frame, [line.run for line in lines if present(frame, line.run)])
    return run_table(frame, declared, name, lines, columns, notes, lead)


def gain(measure: Measure, label: str, reference: str) -> Column:
    """Return the column of how much more accurate a run is than `reference`, in points, paired by seed."""

    def read(frame: pd.DataFrame, run: str) -> pd.Series:
        of, over = (MEASURES[measure](frame, one).loc[:, "accuracy"] for one in (run, reference))
        return (of - over).dropna()

    return Column("Difference (points)", label, f"gain_{measure}", read, cells.percent)


def differing(frame: pd.DataFrame, runs: list[str]) -> dict[str, dict[str, str]]:
    """Return by run the values of the config keys in which the runs that have them differ.

    What a run does not have is the empty string: that is said by the name of another model, scheme or work.
    """
    configs = {run: json.loads(frame.loc[frame["run"] == run, "config"].iloc[0]) for run in runs}
    flat = {run: flattened(config) for run, config in configs.items()}
    keys = dict.fromkeys(key for values in flat.values() for key in values)
    apart = [key for key in keys if len({values[key] for values in flat.values() if key in values}) > 1]
    return {run: {key: values.get(key, "") for key in apart} for run, values in flat.items()}


def flattened(config: Mapping[str, Any], above: str = "") -> dict[str, str]:
    """Return dotted path -> value, as text."""
    found = {}
    for key, value in config.items():
        path = f"{above}{key}"
        found |= (
            flattened(value, f"{path}.") if isinstance(value, dict) else {path: json.dumps(value).strip('"')}
        )
    return found
