"""What there is of a paper, a table, a row, a cell or a run: numbers, what they mean, what is behind them."""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd

from fedpriv.account.spend import Spend
from fedpriv.config.origins import origins, said_at
from fedpriv.config.plan import RunKey, laid, load_preset
from fedpriv.errors import unknown
from fedpriv.files.rundir import RunDir
from fedpriv.keep import place
from fedpriv.paper.read import merge
from fedpriv.paper.spends import SPEND_COLUMNS
from fedpriv.report.claims import compare
from fedpriv.report.claims.yardstick import outcome
from fedpriv.report.runs import common
from fedpriv.report.settings import flattened
from fedpriv.report.tables.long import STATISTIC, printed
from fedpriv.report.texts import unescape_markdown

BAR = re.compile(r"(?<!\\)\|")  # of a Markdown table
# Of what is read of the seeds of a table: numbers.
SEEDS = {"seed": "int64", "round": "float64", "accuracy": "float64", "epsilon": "float64"}
BESIDE = ("delta", "attacker_accuracy")  # quantities that the meaning of an ε says
MACHINE = ("hardware", "engine", "code")
SCHEMA = "default of the schema"


def paper(folder: Path) -> dict[str, Any]:
    """Return what there is of RESULTS/PAPER, and what came of it."""
    accuracies = compare.published_and_reproduced(folder)
    claims = compare.claims(folder) if (folder / "claims.csv").exists() else pd.DataFrame({"outcome": []})
    return {
        "results": str(folder),
        "accuracies": Counter(map(outcome, accuracies.get("verdict", ()))),
        "claims": Counter(claims["outcome"]),
        "elements": [
            {
                "kind": path.parent.name.removesuffix("s"),
                "name": path.stem,
                "title": unescape_markdown(title(path)).removeprefix("# "),
            }
            for path in place.elements(folder)
        ],
    }


def title(path: Path) -> str:
    """Return the first line of a text."""
    return path.read_text(encoding="utf-8").partition("\n")[0]


def element(folder: Path, name: str) -> dict[str, Any]:
    """Return a table as people read it, line by line, or the caption of a figure, with its files and notes.

    A name that is not there is BadInput with those that are.
    """
    name = named(f"{folder}: table", name, place.names(folder), f"fedpriv show {folder}")
    path = next(path for path in place.elements(folder) if path.stem == name)
    heading, *blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    files = [str(one) for end in (".*", "_seeds.csv") for one in sorted(path.parent.glob(name + end))]
    lines: list[dict[str, str]] = []
    if grid := next((block for block in blocks if block.startswith("|")), ""):
        blocks.remove(grid)
        head, _, *rows = [cells(line) for line in grid.splitlines()]
        lines = [dict(zip(head, row, strict=True)) for row in rows]
    notes = [line for block in blocks if not block.startswith("!") for line in block.splitlines()]
    said = [unescape_markdown(note.removeprefix("- ")) for note in notes]
    return {
        "title": unescape_markdown(heading).removeprefix("# "),
        "lines": lines,
        "notes": said,
        "files": files,
    }


def cells(line: str) -> list[str]:
    """Return the cells of a line of a Markdown table."""
    return [unescape_markdown(cell.strip()) for cell in BAR.split(line)[1:-1]]


def show(folder: Path, table: str, row: str, column: str, configs: Path) -> dict[str, Any]:
    """Return the numbers of a cell, or of all of a row, and a line for every run and seed behind them.

    `folder` is RESULTS/PAPER, or the same of the reference, whose runs are stored: those of the preset of
    that name in `configs`. `row` and `column` are words of the table's CSV, in any case; without a column it
    is the row. What is not there is BadInput that lists what is.
    """
    table = named("table", table, place.names(folder), f"fedpriv show {folder}")
    path = folder / "tables" / f"{table}.csv"
    lines = compare.read(path, ["row", "column", "run"], dict.fromkeys([*STATISTIC, "delta"], "float64"))
    listing = f"fedpriv show {folder} {table}"
    lines = lines.loc[lines["row"] == named("row", row, lines["row"], listing)]
    if column:
        lines = lines.loc[lines["column"] == named("column", column, lines["column"], listing)]
    told = {(one["run"], one["seed"]): (one, trace) for one, trace in summaries(folder, configs)}
    names = sorted({run for run in lines["run"] if run})
    # What only some of the paper's runs have, or have otherwise.
    settings = {run: flattened(one["config"]) for (run, _), (one, _) in told.items()}
    shared = common(list(settings.values()))
    where = {(line["row"], line["column"]) for line in lines.to_dict("records")}
    return {
        "numbers": deltas_joined([number(line) for line in lines.to_dict("records")]),
        "seeds": [number(one) for one in seed_lines(path) if (one["row"], one["column"]) in where],
        "runs": {
            run: {
                "settings": {k: v for k, v in settings[run].items() if k not in shared},
                "seeds": {seed: facts(*told[name, seed]) for name, seed in sorted(told) if name == run},
            }
            for run in names
            if run in settings
        },
        "not run": [run for run in names if run not in settings],
    }


def seed_lines(table: Path) -> list[dict[Hashable, Any]]:
    """Return the lines of the seeds of a table of accuracies; of any other there are none."""
    path = table.with_name(f"{table.stem}_seeds.csv")
    return compare.read(path, ["row", "column"], SEEDS).to_dict("records") if path.exists() else []


def named(what: str, found: str, allowed: Iterable[str], listing: str = "") -> str:
    """Return the one of `allowed` that is meant, in whatever case; BadInput says which there are."""
    names = list(dict.fromkeys(allowed))
    meant = [name for name in names if name.casefold() == found.casefold()]
    if not meant:
        raise unknown(what, found or "nothing", names, listing)
    return meant[0]


def summaries(folder: Path, configs: Path) -> Iterator[tuple[dict[str, Any], Path]]:
    """Yield the summaries of the finished runs of a paper, and where their traces are: beside, or stored."""
    there = sorted(folder.glob("runs/*/seed*/summary.json"))
    yield from ((run.summary, run.sources[0]) for run in (RunDir(path.parent) for path in there))
    if not there:
        preset, paper, reference = folder.parent.name, folder.name, folder.parents[1]
        plan = load_preset(configs / f"{preset}.yaml")
        for key in plan.keys(paper):
            if (path := key.stored(reference)).exists():
                yield merge(RunDir(path).summary, plan.labels(paper, key.run)), path


def number(line: Mapping[Any, Any]) -> dict[str, Any]:
    """Return what is said of a line of a table's CSV, nothing that does not apply."""
    return {str(key): value for key, value in line.items() if value != "" and not pd.isna(value)}


def deltas_joined(numbers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the same numbers; an ε has its δ, where the table has a line of its own for that."""

    def key(one: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(one.get(name) for name in ("source", "run", "unit", *SPEND_COLUMNS))

    deltas = {key(one): one["value"] for one in numbers if one["quantity"] == "delta" and "value" in one}
    return [
        {"delta": deltas[key(one)], **one} if one["quantity"] == "epsilon" and key(one) in deltas else one
        for one in numbers
    ]


def facts(told: Mapping[str, Any], trace: Path) -> dict[str, Any]:
    """Return what a reviewer asks of one run and seed."""
    wanted = ("identity", "results_version", "rounds", "test_accuracy", "evaluated_on", "seconds")
    environment = told.get("environment", {})
    return {key: told.get(key) for key in wanted} | {
        "data": told["data"]["name"],
        **{key: environment.get(key) for key in MACHINE},
        "trace": str(trace),
    }


def spoken(one: Mapping[str, Any]) -> dict[str, str]:
    """Return a number of `show` as people read it."""
    return {
        "column": one["column"],
        "quantity": one["quantity"] + " (%)" * one["quantity"].startswith("accuracy"),
        "": one.get("source", ""),
        "value": printed(one),
        "seeds": f"{one['seeds']:g}" if "seeds" in one else "",
        "status": one.get("status", "").removeprefix("ok"),
        "meaning": meaning(one),
    }


def meaning(one: Mapping[str, Any]) -> str:
    """Return all that gives an ε its meaning; of one that is published, its δ."""
    if one["quantity"] != "epsilon" or not {"kind", "value", "delta"} <= set(one):
        return f"at δ = {one['delta']:g}" if one["quantity"] == "epsilon" and "delta" in one else ""
    told: dict[str, Any] = {field.name: one[field.name] for field in fields(Spend) if field.name in one}
    told |= {"epsilon": one["value"], "unmet": str(one.get("epsilon_status", "")).partition(": ")[2]}
    return str(Spend(**told)).partition(" = ")[2].partition(" ")[2]


def resolved(config: Path, paper: str, run: str, reference: Path) -> dict[str, Any]:
    """Return every key of a run, what it is and who says it, and of every seed the identity and the trace.

    `paper` and `run` are those of the preset `config`, in any case; what is not there is BadInput that lists
    what is. A trace that is found neither in the preset's results nor below `reference` is null.
    """
    plan = load_preset(config)
    paper = named("paper", paper, plan.runs)
    run = named("run", run, plan.runs[paper], f"fedpriv list runs --paper {paper}")
    one = plan.runs[paper][run]
    above = (plan.preset.stand_ins, plan.preset.patches, str(config))
    tree = laid(origins(plan.folders[paper], *above), paper, run)
    return {
        "paper": paper,
        "run": run,
        "keys": {
            path: {"value": value, "said by": said_at(tree, path.split(".")) or SCHEMA}
            for path, value in flattened(one.model_dump(mode="json")).items()
        },
        "seeds": {
            key.seed: {"identity": key.identity, "trace": trace(key, plan.preset.preset, reference)}
            for key in plan.keys(paper, run)
        },
    }


def trace(key: RunKey, preset: str, reference: Path) -> str | None:
    """Return where the trace of a run and seed is: in its folder, in the file of a stored run, or nowhere."""
    if key.trained(preset):
        return str(Path(key.directory(preset), "trace.parquet"))
    path = key.stored(reference)
    return str(path) if path.exists() else None
