"""The verbs that look: what there is, what is behind a number, what a run is set to, what is stored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

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
from fedpriv.cli.results import (
    element_named,
    elements,
    meaning_text,
    outcome_texts,
    outcomes,
    published_cells,
    rendered_folders,
    results_of,
    row_labels,
    row_lines,
    seed_lines,
    table_cells,
)
from fedpriv.cli.table import Table
from fedpriv.errors import BadInput, match_name, plain
from fedpriv.progress import print_stderr
from fedpriv.report.texts import OWN_COLUMNS, read_texts

if TYPE_CHECKING:
    from fedpriv.paper.paper import Paper

Lines = list[dict[str, Any]]


# list


def known_kind(kind: str) -> str:
    """Return a kind of what can be listed, or BadInput."""
    if kind and kind not in complete.KINDS:
        claims = " Claims are listed by: fedpriv compare PAPER." * (kind == "claims")
        raise BadInput(f"list knows {', '.join(complete.KINDS)}; not '{plain(kind)}'.{claims}")
    return kind


def list_table(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="papers|runs|tables|datasets|schemes",
            help="One kind; by default what is short.",
            callback=known_kind,
            autocompletion=complete.kinds,
        ),
    ] = "",
    paper: Annotated[
        str, typer.Option(help="Only what is of this paper.", autocompletion=complete.papers)
    ] = "",
    reference: Reference = REFERENCE,
    configs: Configs = CONFIGS,
    resources: Resources = RESOURCES,
    as_json: AsJson = False,
) -> None:
    """List papers, runs, tables, datasets and schemes, and what is stored.

    A run has its accuracy and ε as the first table reads them that has it.
    """
    kinds = [kind] if kind else ["papers", *LONG] if paper else [*complete.KINDS]
    papers = [*declared(paper, reference, configs)] if PAPER_LINES.keys() & kinds else []
    lists: dict[str, Lines] = {}
    for name in kinds:
        if name in OTHER_LINES:
            lists[name] = [*OTHER_LINES[name](resources)]
        else:
            lists[name] = [line for spec in papers for line in PAPER_LINES[name](spec, reference)]
    tables = [Table(name, lists[name]) for name in kinds if kind or name not in LONG]
    note = {"": [MORE], "runs": [NOTE]}.get(kind, [])
    print_result(lists, [*tables, *note], as_json)


def declared(paper: str, reference: Path, configs: Path) -> Iterator[Paper]:
    """Yield the paper that a word means, or all that are declared."""
    from fedpriv.paper.paper import homes, load_paper

    folders = homes(configs / "papers")
    if paper:
        paper = results_of(paper, reference).name if "/" in paper else paper
        folders = {(name := match_name("paper", paper, folders)): folders[name]}
    yield from (load_paper(name, folder) for name, folder in folders.items())


def stored_seeds(reference: Path, paper: str) -> dict[str, list[int]]:
    """Return by run of a paper the seeds of which it is stored, as the names of files say it."""
    from fedpriv.store.summary import STORED, stored_files

    by_run: dict[str, set[int]] = {}
    for path in stored_files(reference, paper):
        if name := STORED.fullmatch(path.name):
            by_run.setdefault(path.parent.name, set()).add(int(name[1]))
    return {run: sorted(seeds) for run, seeds in by_run.items()}


def paper_lines(paper: Paper, reference: Path) -> Iterator[dict[str, Any]]:
    """Yield the line of a paper, with the number of its runs and of those that are stored."""
    counts = {"runs": len(paper.runs), "stored": len(stored_seeds(reference, paper.paper))}
    yield {"paper": paper.paper, "year": paper.year, **counts, "title": paper.title}


def run_lines(paper: Paper, reference: Path) -> Iterator[dict[str, Any]]:
    """Yield every run of a paper as it is declared, with what the first table that has it read of it."""
    from fedpriv.paper.paper import merge

    stored = stored_seeds(reference, paper.paper)
    folders = rendered_folders(reference).get(paper.paper, [])
    read: dict[str, dict[str, Any]] = {}
    for cell in (cell for folder in folders for path in elements(folder) for cell in table_cells(path)):
        if cell["printed"]:
            read.setdefault(cell["run"], cell)
    for name, own in paper.runs.items():
        config = merge(paper.defaults, own)
        scheme = config.get("scheme", "")
        yield {
            "paper": paper.paper,
            "run": name,
            "dataset": config.get("dataset", ""),
            "scheme": scheme.get("name", "") if isinstance(scheme, dict) else scheme,
            **reproduced(read.get(name)),
            "seeds stored": stored.get(name, []),
        }


def reproduced(cell: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the accuracy of a cell as its table prints it, and each ε that it cost: by whom, of whom."""
    if cell is None:
        return {}
    accuracy, *others = [text.partition(" (")[0] for text in cell["printed"].values()]
    epsilons = [
        " ".join([text, *(spent[name] for name in COUNTED if spent.get(name, "") not in USUAL)])
        for text, spent in zip(filter(None, others), cell["epsilons"], strict=False)
    ]
    return {"accuracy (%)": accuracy, "ε": ", ".join(epsilons)}


def element_lines(paper: Paper, reference: Path) -> Iterator[dict[str, Any]]:
    """Yield every table and figure of a paper, with the presets of which it is rendered in the reference."""
    from fedpriv.paper.tables import full_title

    for kind, there, suffix in (("tables", paper.tables, "csv"), ("figures", paper.figures, "png")):
        for name, element in there.items():
            files = reference.glob(f"*/{paper.paper}/{kind}/{name}.{suffix}")
            yield {
                "paper": paper.paper,
                "name": name,
                "kind": f"{kind.removesuffix('s')} of {element.kind}",
                "title": full_title(element),
                "rendered": sorted(path.parts[-4] for path in files),
            }


def dataset_lines(resources: Path) -> Iterator[dict[str, Any]]:
    """Yield every dataset; it is here where it needs no network, or where anything was fetched for it."""
    from fedpriv.data import DATASETS

    for name in DATASETS:
        dataset = DATASETS[name]
        fetched = any(resources.glob(f"{name}[./-]*")) or any(resources.glob(f"{name}/**/*.*"))
        here = fetched or not dataset.network
        yield {"dataset": name, "gives": dataset.contents, "here": here, "licence": dataset.licence}


def scheme_lines(_: Path) -> Iterator[dict[str, Any]]:
    """Yield every scheme, with whom it protects and what it does."""
    from fedpriv.schemes import SCHEMES

    for name, scheme in SCHEMES.items():
        does = " ".join((scheme.__doc__ or "").split("\n\n")[0].split())
        yield {"scheme": name, "unit": getattr(scheme, "unit", ""), "does": does}


LONG = ("runs", "tables")
MORE = f"More: {', '.join(f'fedpriv list {name} [--paper PAPER]' for name in LONG)}"
COUNTED = ("accountant", "unit", "relation")
USUAL = ("", "client", "add_remove")  # which the note below the runs says once
NOTE = "ε is of a client added or removed, if the line names no other; †: not a guarantee; ‡: an estimate."
PAPER_LINES = {"papers": paper_lines, "runs": run_lines, "tables": element_lines}
OTHER_LINES = {"datasets": dataset_lines, "schemes": scheme_lines}


# show


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
    read off. Of a run of a preset: settings, machines, code and traces.
    """
    first, *rest = words
    if first.endswith(".yaml"):
        paper, run, *more = [*rest, "", ""]
        facts, parts = run_facts(preset_file(Path(first)), paper, run, reference)
    else:
        folder = results_of(first, reference).resolve()
        if folder.is_relative_to(Path.cwd()) and len((near := folder.relative_to(Path.cwd())).parts) > 2:
            folder = near
        path, more = element_named(folder, rest) if rest else (Path(), [])
        row, column, *more = [*more, "", ""]
        if not rest:
            facts, parts = paper_facts(folder)
        elif row:
            facts, parts = row_facts(folder, path, row, column, configs)
        else:
            facts, parts = element_facts(path)
    if any(more):
        raise BadInput("show takes at most four words: PAPER TABLE ROW COLUMN.")
    print_result(facts, parts, as_json)


Shown = tuple[dict[str, Any], list[Table | str]]  # the facts, and how people read them


def paper_facts(folder: Path) -> Shown:
    """Return the elements of RESULTS/PAPER, how its numbers and claims came out, and the next commands."""
    every = [
        {"kind": path.parent.name.removesuffix("s"), "name": path.stem, "title": read_texts(path)["title"]}
        for path in elements(folder)
    ]
    commands = [f"    fedpriv show {folder} TABLE [ROW] [COLUMN]", f"    fedpriv compare {folder}"]
    counts = outcomes(folder, published_cells(folder))
    facts = {"results": str(folder), "elements": every, "outcomes": counts}
    return facts, [Table(str(folder), every), *outcome_texts(folder.name, counts), *commands]


def element_facts(path: Path) -> Shown:
    """Return a table as a paper would print it, or the caption of a figure, and where its files are."""
    texts = read_texts(path)
    files = [str(file) for end in (".*", "_seeds.csv") for file in sorted(path.parent.glob(path.stem + end))]
    parts: list[Table | str] = []
    for number, block in enumerate(texts.get("blocks", ())):
        lines = [dict(zip(block["columns"], row, strict=True)) for row in block["rows"]]
        parts += ["", OWN_COLUMNS] if number else []
        parts.append(Table("" if number else texts["title"], lines, once=False))
    parts += ["", *texts["notes"]] if parts else [texts["title"], texts["caption"]]
    return texts | {"files": files}, [*parts, "", *(f"    {file}" for file in files)]


def row_facts(folder: Path, path: Path, row: str, column: str, configs: Path) -> Shown:
    """Return a row of a table, a line for each of its columns; of one column its seeds and what ε means, too.

    `row` and `column` are those that the table prints, or the keys of the paper's YAML, in any case. What is
    not there is BadInput that lists what is.
    """
    texts = read_texts(path)
    if "blocks" not in texts:
        raise BadInput(f"{path.stem} is a figure, which has no rows.")
    listing = f"fedpriv show {folder} {path.stem}"
    label, lines, cells = row_meant(texts, table_cells(path), row, listing)
    if column:
        lines, cells = column_meant(lines, cells, column, listing)
    seeds = {cell["heading"]: seeds_of(path, cell) for cell in cells}
    verdicts = {cell["heading"]: cell.get("verdict", "") for cell in cells}
    for line in lines:
        line |= {"round": rounds_text(seeds.get(line[""], ())), "verdict": verdicts.get(line[""], "")}
    facts = {"title": texts["title"], "row": label, "lines": lines, "cells": cells, "seeds": seeds}
    parts: list[Table | str] = [Table(texts["title"], lines, once=False), *texts["notes"][-1:]]
    if column and cells:
        parts += cell_parts(cells[0], seeds[cells[0]["heading"]])
    parts += run_commands(cells, f"    fedpriv show {configs / folder.parent.name}.yaml {folder.name}")
    return facts, parts


def run_commands(cells: Lines, command: str) -> Iterator[str]:
    """Yield what shows the runs that cells were read of, if there are any."""
    if runs := dict.fromkeys(cell["run"] for cell in cells if cell["run"]):
        yield "Settings, machines and traces of a run:"
        yield from (f"{command} {run}" for run in runs)


def row_meant(
    texts: Mapping[str, Any], cells: Lines, row: str, listing: str
) -> tuple[str, list[dict[str, str]], Lines]:
    """Return what the row is called that is meant, its lines and its cells."""
    labels = row_labels(texts)
    keys = {label.replace(",", ""): label for label in labels} | {
        cell["row"]: cell["label"] for cell in cells
    }
    label = matching_text("row", row, labels, keys, listing)
    return label, row_lines(texts, label), [cell for cell in cells if cell["label"] == label]


def column_meant(
    lines: list[dict[str, str]], cells: Lines, column: str, listing: str
) -> tuple[list[dict[str, str]], Lines]:
    """Return of the lines and the cells of a row those of the column that is meant."""
    keys = {cell["column"]: cell["heading"] for cell in cells}
    heading = matching_text("column", column, [line[""] for line in lines], keys, listing)
    return (
        [line for line in lines if line[""] == heading],
        [cell for cell in cells if cell["heading"] == heading],
    )


def matching_text(what: str, word: str, texts: Collection[str], keys: Mapping[str, str], listing: str) -> str:
    """Return which of the texts of a table a word means: itself, or the one that has it as a key."""
    known = {key.casefold(): text for key, text in keys.items()}
    return known.get(word.casefold()) or match_name(what, word, texts, listing)


def rounds_text(seeds: Iterable[Mapping[str, Any]]) -> str:
    """Return at which rounds seeds were read: one number if they agree, else the first and the last."""
    rounds = sorted(line["round"] for line in seeds)
    return "–".join(dict.fromkeys(map(str, rounds[:1] + rounds[-1:])))


def seeds_of(table: Path, cell: Mapping[str, Any]) -> Lines:
    """Return the lines of the seeds of a cell."""
    path = table.with_name(f"{table.stem}_seeds.csv")
    key = cell["row"], cell["column"]
    return (
        [line for line in seed_lines(path) if (line["row"], line["column"]) == key] if path.exists() else []
    )


def cell_parts(cell: Mapping[str, Any], seeds: Lines) -> Iterator[Table | str]:
    """Yield the meaning of a cell's ε, and its seeds at the round read off."""
    shown = [text.partition(" (")[0] for line, text in cell["printed"].items() if "ε" in line and text]
    for spent, text in zip(cell["epsilons"], shown, strict=False):
        at = f" at δ = {spent['delta']:g}" if "delta" in spent else ""
        yield f"ε = {text}{at} ({meaning_text(spent)}, {spent.get('epsilon_status', '')})"
    hidden = ("table", "row", "column")
    lines = [{name: value for name, value in seed.items() if name not in hidden} for seed in seeds]
    yield Table("seeds, at the round read off", [percent_cells(line) for line in lines])


def percent_cells(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells of a seed, with accuracies in percent, and other numbers in a few digits."""
    cells = {}
    for name, value in line.items():
        if name.endswith("accuracy") and value is not None:
            cells[f"{name} (%)"] = f"{100 * value:.2f}"
        else:
            cells[name] = f"{value:.5g}" if isinstance(value, float) else value
    return cells


def run_facts(config: Path, paper: str, run: str, reference: Path) -> Shown:
    """Return every key of a run, and of every seed what a reviewer asks, its trace among that.

    `paper` and `run` are those of the preset `config`, in any case; what is not there is BadInput that lists
    what is. A trace that is neither in the preset's results nor below `reference` is null.
    """
    from fedpriv.config.plan import load_preset
    from fedpriv.report.results import flatten

    plan = load_preset(config, (paper, run))
    [(paper, [run])] = plan.runs.items()
    keys = flatten(plan.runs[paper][run].model_dump(mode="json"))
    seeds = {}
    for key in plan.keys(paper, run):
        trained = Path(key.directory(plan.preset.preset))
        path = trained if key.trained(plan.preset.preset) else key.stored(reference)
        seeds[key.seed] = {
            "identity": key.identity,
            "trace": None,
            **(seed_facts(path) if path.exists() else {}),
        }
    lines = [{"seed": seed, **percent_cells(facts), "trace": ""} for seed, facts in seeds.items()]
    traces = [f"    {facts['trace']}" for facts in seeds.values() if facts["trace"]]
    parts = [
        Table(f"{paper}: {run}", [{"key": path, "value": value} for path, value in keys.items()]),
        Table("seeds, at the last round", lines),
        *(["traces", *traces] if traces else []),
        "To train a seed, or to learn where it is stored:",
        f"    fedpriv run {config} --paper {paper} --run {run} --seed 0",
    ]
    return {"paper": paper, "run": run, "keys": keys, "seeds": seeds}, parts


def seed_facts(path: Path) -> dict[str, Any]:
    """Return the facts that a reviewer asks of a finished run, by its directory or its stored file."""
    from fedpriv.store.rundir import RunDir

    done = RunDir(path)
    keys = ("results_version", "rounds", "test_accuracy", "evaluated_on", "seconds")
    machine = done.summary.get("environment", {})
    return {key: done.summary.get(key) for key in keys} | {
        "data": done.summary["data"]["name"],
        **{key: machine.get(key) for key in ("hardware", "engine", "code")},
        "trace": str(done.sources[0]),
    }


# keep, rerender


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

    names = ["/".join(results_of(word, reference).parts[-2:]) for word in papers or ()]
    with TemporaryDirectory() as temporary:
        folder = out or Path(temporary)
        outcomes = rerender.rerender(reference, configs, folder, names)
        if write:
            rerender.write_reference(reference, folder, outcomes)
    text: list[str] = []
    for paper, outcome in outcomes.items():
        text += outcome.lines(paper, reference)
    print_result({paper: outcome._asdict() for paper, outcome in outcomes.items()}, text, as_json)
    if not write and any(outcome.differ for outcome in outcomes.values()):
        raise typer.Exit(1)
