"""From the records of a race to its table: medians over repeats, ratios within a repeat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import pandas as pd
import work
from workload import Workload

Record = Mapping[str, Any]
NOTHING = float("nan")


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


def row(
    workload: Workload,
    label: str,
    records: Sequence[Record],
    machine: Mapping[int, Mapping[str, float]],
    base: str,
) -> dict[str, Any]:
    """Return one line as numbers; `machine` holds the convolution's GFLOP/s by repeat and dtype.

    What worked on another workload is not compared. `base` is the label of the other checkout, if one ran.
    """
    mine, others = by_repeat(records, label), fastest_others(records)
    speeds = {repeat: speed(record) for repeat, record in mine.items()}
    gflop = workload.examples * work.flop_per_example(workload) / 1e9  # a round, without evaluations
    raced = {repeat: record for repeat, record in mine.items() if record["workload"] == workload.name}
    shares = [gflop * speeds[repeat] / machine[repeat][record["dtype"]] for repeat, record in raced.items()]
    ratios = [speeds[repeat] / others[repeat] for repeat in raced if repeat in others]
    bases = {repeat: speed(record) for repeat, record in by_repeat(records, base).items()}
    gains = [speeds[repeat] / bases[repeat] for repeat in raced if repeat in bases]
    return {
        "contender": label,
        "rounds_per_second": median(speeds.values()),
        "slowest": min(speeds.values()),
        "fastest": max(speeds.values()),
        "examples_per_second": workload.examples * median(speeds.values()),
        "gflop_per_second": gflop * median(speeds.values()) if raced else NOTHING,
        "share_of_convolution": median(shares) if shares else NOTHING,
        "peak_mib": max(record["peak_mib"] for record in mine.values()),
        "against_fastest_other": median(ratios) if ratios else NOTHING,
        "against_other_checkout": median(gains) if gains else NOTHING,
        "repeats": len(mine),
    }


def rows(
    workload: Workload, records: Sequence[Record], machine: Mapping[int, Mapping[str, float]], base: str = ""
) -> pd.DataFrame:
    """Return the table as numbers, in the order in which the contenders first ran."""
    labels = dict.fromkeys(record["label"] for record in records)
    return pd.DataFrame([row(workload, label, records, machine, base) for label in labels])


def markdown(table: pd.DataFrame) -> str:
    """Return the table as it is printed; what is not a number is left empty."""

    def column(name: str, how: str) -> list[str]:
        return [how.format(value) if value == value else "" for value in table[name]]

    shown = pd.DataFrame(
        {
            "contender": table["contender"],
            "rounds/s (min to max)": [
                f"{line.rounds_per_second:.2f} ({line.slowest:.2f} to {line.fastest:.2f})"
                for line in table.itertuples()
            ],
            "examples/s": column("examples_per_second", "{:,.0f}"),
            "GFLOP/s": column("gflop_per_second", "{:.3g}"),
            "of the yardstick": column("share_of_convolution", "{:.0%}"),
            "peak MiB": column("peak_mib", "{:,.0f}"),
            "against the fastest other": column("against_fastest_other", "{:.2f}x"),
            "against the other checkout": column("against_other_checkout", "{:.2f}x"),
        }
    )
    shown = shown.loc[:, (shown != "").any()]
    return shown.to_markdown(index=False, disable_numparse=True)
