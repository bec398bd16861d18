"""From the records of a race to its table: medians over repeats, ratios within a repeat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import pandas as pd
import work

Record = Mapping[str, Any]


def by_repeat(records: Sequence[Record], label: str) -> dict[int, Record]:
    return {record["repeat"]: record for record in records if record["label"] == label}


def speed(record: Record) -> float:
    """Return rounds a second."""
    return record["rounds"] / record["seconds"]


def fastest_others(records: Sequence[Record]) -> dict[int, float]:
    """Return the best speed of a contender that is not ours, for each repeat."""
    best: dict[int, float] = {}
    for record in records:
        if not record["ours"]:
            best[record["repeat"]] = max(best.get(record["repeat"], 0.0), speed(record))
    return best


def row(label: str, records: Sequence[Record], machine: Mapping[int, Mapping[str, float]]) -> dict[str, Any]:
    """Return one line as numbers; `machine` holds the convolution's GFLOP/s by repeat and dtype."""
    mine, others = by_repeat(records, label), fastest_others(records)
    speeds = {repeat: speed(record) for repeat, record in mine.items()}
    examples = work.COHORT * work.EXAMPLES  # a round
    gflop = examples * work.flop_per_example() / 1e9  # a round; evaluations are timed, not counted
    shares = [gflop * speeds[repeat] / machine[repeat][record["dtype"]] for repeat, record in mine.items()]
    ratios = [speeds[repeat] / others[repeat] for repeat in mine if repeat in others]
    return {
        "contender": label,
        "rounds_per_second": median(speeds.values()),
        "slowest": min(speeds.values()),
        "fastest": max(speeds.values()),
        "examples_per_second": examples * median(speeds.values()),
        "gflop_per_second": gflop * median(speeds.values()),
        "share_of_convolution": median(shares),
        "peak_mib": max(record["peak_mib"] for record in mine.values()),
        "against_fastest_other": median(ratios) if ratios else float("nan"),
        "repeats": len(mine),
    }


def rows(records: Sequence[Record], machine: Mapping[int, Mapping[str, float]]) -> pd.DataFrame:
    """Return the table as numbers, in the order in which the contenders first ran."""
    labels = dict.fromkeys(record["label"] for record in records)
    return pd.DataFrame([row(label, records, machine) for label in labels])


def markdown(table: pd.DataFrame) -> str:
    """Return the table as it is printed."""
    shown = pd.DataFrame(
        {
            "contender": table["contender"],
            "rounds/s (min to max)": [
                f"{line.rounds_per_second:.2f} ({line.slowest:.2f} to {line.fastest:.2f})"
                for line in table.itertuples()
            ],
            "examples/s": [f"{value:,.0f}" for value in table["examples_per_second"]],
            "GFLOP/s": [f"{value:.0f}" for value in table["gflop_per_second"]],
            "of the convolution": [f"{value:.0%}" for value in table["share_of_convolution"]],
            "peak MiB": [f"{value:,.0f}" for value in table["peak_mib"]],
            "against the fastest other": [
                f"{value:.2f}x" if value > 0 else "" for value in table["against_fastest_other"]
            ],
        }
    )
    return shown.to_markdown(index=False, disable_numparse=True)
