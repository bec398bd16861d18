"""The verbs that look: what there is, what is behind a number, what a run is set to, what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal, get_args

import typer

from fedpriv.cli import complete
from fedpriv.cli.options import (
    CONFIGS,
    REFERENCE,
    RESOURCES,
    AsJson,
    Configs,
    Reference,
    Resources,
    preset_file,
    print_result,
)
from fedpriv.cli.table import Table
from fedpriv.errors import BadInput, match_name
from fedpriv.progress import print_stderr

LONG = ("runs", "tables")
Kind = Literal["papers", "runs", "tables", "datasets", "schemes"]


def list_table(
    kind: Annotated[
        Kind | None,
        typer.Argument(metavar="|".join(get_args(Kind)), help="One kind; by default what is short."),
    ] = None,
    paper: Annotated[
        str, typer.Option(help="Only what is of this paper.", autocompletion=complete.papers)
    ] = "",
    reference: Reference = REFERENCE,
    configs: Configs = CONFIGS,
    resources: Resources = RESOURCES,
    as_json: AsJson = False,
) -> None:
    """List papers, runs, tables, datasets and schemes, and what is stored."""
    from fedpriv.paper.paper import homes
    from fedpriv.workflow.inventory import inventory, results_of

    if paper:
        paper = results_of(paper, reference).name if "/" in paper else paper
        paper = match_name("paper", paper, list(homes(configs / "papers")))
    every = inventory(configs, reference, resources, paper)
    kinds = ("papers", *LONG) if paper else get_args(Kind)
    lists = {name: every[name] for name in kinds if kind in (None, name)}
    tables = [Table(name, lines) for name, lines in lists.items() if kind or name not in LONG]
    note = [] if kind else [f"More: {', '.join(f'fedpriv list {name} [--paper PAPER]' for name in LONG)}"]
    print_result(lists, [*tables, *note], as_json)


def show(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORD",
            autocompletion=complete.show_words,
            help="PAPER or RESULTS/PAPER, then TABLE, ROW and COLUMN; or PRESET.yaml PAPER RUN.",
        ),
    ],
    reference: Reference = REFERENCE,
    configs: Configs = CONFIGS,
    as_json: AsJson = False,
) -> None:
    """Show a paper, a table, a row, a cell with its seeds, or a run.

    A paper's name means its reference results. Of a cell: numbers and their meaning, each seed at the round
    read off, settings, machines, code. Of a run of a preset: its config and its traces.
    """
    if len(words) > 4:
        raise BadInput("show takes at most four words: PAPER TABLE ROW COLUMN.")
    from fedpriv.workflow import inventory as results

    if words[0].endswith(".yaml"):
        config, paper, run = [*words, "", ""][:3]
        facts = results.resolve_run(preset_file(Path(config)), paper, run, reference)
        print_result(facts, run_parts(facts, config), as_json)
        return
    folder = results.results_of(words[0], reference)
    table, row, column = [*words[1:], "", "", ""][:3]
    folder = folder.resolve()
    if folder.is_relative_to(Path.cwd()) and len((near := folder.relative_to(Path.cwd())).parts) > 2:
        folder = near
    if not table:
        facts = results.paper(folder)
        parts = paper_parts(facts)
    elif not row:
        facts = results.element(folder, table)
        parts = element_parts(facts)
    else:
        facts = results.show(folder, table, row, column, configs)
        parts = cell_parts(facts, f"{configs / folder.parent.name}.yaml {folder.name}")
    print_result(facts, parts, as_json)


def element_parts(facts: Mapping[str, Any]) -> list[Table | str]:
    """Return a table as a paper would print it, or the caption of a figure, and where its files are."""
    from fedpriv.report.render import OURS

    parts: list[Table | str] = []
    for number, block in enumerate(facts.get("blocks", ())):
        lines = [dict(zip(block["columns"], row, strict=True)) for row in block["rows"]]
        parts += ["", OURS] if number else []
        parts.append(Table("" if number else facts["title"], lines, once=False))
    parts += ["", *facts["notes"]] if parts else [facts["title"], facts["caption"]]
    return [*parts, "", *(f"    {file}" for file in facts["files"])]


def run_parts(facts: Mapping[str, Any], config: str) -> list[Table | str]:
    """Return a run's keys and its seeds, and how to have a folder of one's own for a seed."""
    keys = [{"key": path, "value": value} for path, value in facts["keys"].items()]
    seeds = [{"seed": seed, **details} for seed, details in facts["seeds"].items()]
    return [
        Table(f"{facts['paper']}: {facts['run']}", keys),
        Table("seeds", seeds),
        "A seed is trained, or where it is stored is said, by",
        f"    fedpriv run {config} --paper {facts['paper']} --run {facts['run']} --seed 0",
    ]


def paper_parts(facts: Mapping[str, Any]) -> list[Table | str]:
    """Return the elements of a paper, its verdicts, and the next commands."""
    parts: list[Table | str] = [Table(facts["results"], facts["elements"])]
    for name in ("accuracies", "claims"):
        if counts := "; ".join(f"{many} {outcome}" for outcome, many in facts[name].items()):
            parts.append(f"{name}: {counts}")
    command = f"    fedpriv show {facts['results']} TABLE [ROW] [COLUMN]"
    return [*parts, command, f"    fedpriv compare {facts['results']}"]


def cell_parts(facts: Mapping[str, Any], paper: str) -> list[Table | str]:
    """Return the numbers of a row or a cell, the seeds and runs behind it, and what shows a run's config."""
    from fedpriv.workflow.inventory import BESIDE, number_line

    numbers = [number_line(row) for row in facts["numbers"] if row["quantity"] not in BESIDE]
    parts: list[Table | str] = [Table("numbers", numbers)]
    if facts["seeds"]:
        parts.append(Table("seeds, at the round read off", [percent_cells(line) for line in facts["seeds"]]))
    for run, behind in facts["runs"].items() if len({row["column"] for row in facts["numbers"]}) == 1 else ():
        lines = [{"seed": seed, **percent_cells(line)} for seed, line in behind["seeds"].items()]
        parts.append(Table(f"{run}, at its last round", lines))
        parts.append(", ".join(f"{key} {value}" for key, value in behind["settings"].items()))
    if facts["not run"]:
        parts.append(f"No finished run here: {', '.join(facts['not run'])}.")
    runs = [*facts["runs"], *facts["not run"]]
    return [*parts, "Every key of a run:", *(f"    fedpriv show {paper} {run}" for run in runs)]


def percent_cells(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells of a seed, with accuracies in percent, and other numbers in a few digits."""
    cells = {}
    for name, value in line.items():
        if name.endswith("accuracy") and value is not None:
            cells[f"{name} (%)"] = f"{100 * value:.2f}"
        elif name != "table":
            cells[name] = f"{value:.5g}" if isinstance(value, float) else value
    return cells


def keep(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="The results of a preset.", exists=True, file_okay=False)
    ],
    dirty: Annotated[bool, typer.Option("--dirty", help="Also runs of an uncommitted tree.")] = False,
    reference: Reference = REFERENCE,
    configs: Configs = CONFIGS,
    as_json: AsJson = False,
) -> None:
    """Store finished runs in the reference.

    Neither weights nor data are stored. A run of an uncommitted tree is refused, as nobody has its code. Exit
    code 2 if a run was refused.
    """
    from fedpriv.workflow.archive import add

    outcome = add(results, configs / f"{results.resolve().name}.yaml", reference, dirty)
    refused = f", {len(outcome.refused)} refused" if outcome.refused else ""
    text = f"{results}: {len(outcome.added)} runs added, {len(outcome.there)} stored before{refused}"
    print_result(outcome._asdict(), [text], as_json)
    if outcome.refused:
        print_stderr(*outcome.refused)
        raise typer.Exit(2)


def rerender(
    papers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PRESET/PAPER", help="Only these; by default all.", autocompletion=complete.results
        ),
    ] = None,
    reference: Reference = REFERENCE,
    configs: Configs = CONFIGS,
    out: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="An empty folder to render in; else nothing is left."),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write what differs into the reference.")] = False,
    as_json: AsJson = False,
) -> None:
    """Render reference results from stored runs and compare bytes.

    Exit code 1 if any differ.
    """
    from fedpriv.workflow import rerender
    from fedpriv.workflow.inventory import results_of

    names = ["/".join(results_of(word, reference).parts[-2:]) for word in papers or ()]
    with TemporaryDirectory() as folder:
        outcomes = rerender.rerender(reference, configs, out or Path(folder), names)
        if write:
            rerender.write_reference(reference, out or Path(folder), outcomes)
    text: list[str] = []
    for paper, (stored, planned, files, differ) in outcomes.items():
        many = f"{stored} of {planned} runs stored, {len(files)} files, {len(differ)} differ"
        text += [f"{paper}: {many if stored else 'no stored runs'}"]
        text += [f"{reference / paper / file}: differs" for file in differ]
    print_result({paper: outcome._asdict() for paper, outcome in outcomes.items()}, text, as_json)
    raise typer.Exit(1 if any(outcome.differ for outcome in outcomes.values()) and not write else 0)
