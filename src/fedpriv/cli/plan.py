"""The verb `plan`: what Snakemake would run of a preset, a row a run."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedpriv.cli import complete
from fedpriv.cli.options import REFERENCE, AsJson, Reference, nested, preset_file, print_result
from fedpriv.cli.table import Table

if TYPE_CHECKING:
    from fedpriv.config.jobs import RunRow


Preset = Annotated[
    Path,
    typer.Argument(
        metavar="PRESET",
        help="A preset, for example config/laptop.yaml.",
        callback=preset_file,
        autocompletion=complete.presets,
    ),
]
# Of a row, what fits into a line of a terminal.
PRINTED = ("paper", "run", "seed", "state", "minutes", "mem_mb", "gpu", "job")


def plan(
    config: Preset,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A key of the preset; repeatable.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write the table to this file, as CSV.")
    ] = None,
    reference: Reference = REFERENCE,
    as_json: AsJson = False,
) -> None:
    """List the runs of a preset, and the jobs that would train them.

    Snakemake's rules read this table. Minutes are those in a job, by stored runs; memory is without the files
    that a run reads. Identities, arrays and partitions stand in the file, and in JSON.
    """
    from fedpriv.config.files import stored_for
    from fedpriv.config.jobs import read_rows, training_jobs
    from fedpriv.config.plan import make_plan
    from fedpriv.paper.paper import merge, read_yaml
    from fedpriv.workflow.steps import PAPERS

    planned = make_plan(merge(read_yaml(config), nested(settings or [])), PAPERS, str(config))
    rows = read_rows(planned, stored_for(planned, reference))
    to_train = [row for row in rows if row.state == "to train"]
    jobs, states = training_jobs(planned, to_train), Counter(row.state for row in rows)
    lines = [shown(row) for row in rows]
    total = {
        "runs": len(rows),
        "stored": states["stored"],
        "trained": states["trained"],
        "to_train": len(to_train),
        "jobs": len(jobs),
        "jobs_with_gpu": sum(job.gpu for job in jobs),
        "minutes": round(sum(row.minutes for row in to_train), 1),
    }
    text = (
        f"{total['runs']:,} runs: {total['stored']:,} stored, {total['trained']:,} trained, "
        f"{total['to_train']:,} to train in {total['jobs']:,} jobs ({total['jobs_with_gpu']:,} with a GPU), "
        f"{total['minutes']:,} minutes"
    )
    if out:
        write_csv(out, lines)
        table = [f"{out}: {len(lines):,} rows"]
    else:
        table = [Table("", [printed(line) for line in lines]), ""]
    print_result({"total": total, "runs": lines}, [*table, text], as_json)


def shown(row: RunRow) -> dict[str, Any]:
    """Return a row as it is printed and written."""
    return row._asdict() | {"minutes": round(row.minutes, 2)}


def printed(line: dict[str, Any]) -> dict[str, Any]:
    """Return what a terminal shows of a row; a job is named where it has other runs, too."""
    alone = line["job"] == f"{line['run']}/seed{line['seed']}"
    return {name: line[name] for name in PRINTED} | ({"job": ""} if alone else {})


def write_csv(path: Path, lines: list[dict[str, Any]]) -> None:
    """Write lines as CSV, whole or not at all."""
    from fedpriv.store.files import writing

    with writing(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(lines)
