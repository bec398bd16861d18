"""What there is: results by the words of a person, what is behind a number, what is stored."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from fedpriv.account.statement import PrivacyStatement
from fedpriv.config.plan import RunKey, load_preset
from fedpriv.data import DATASETS
from fedpriv.errors import BadInput, match_name
from fedpriv.paper.epsilons import SELECTOR_COLUMNS
from fedpriv.paper.paper import Paper, homes, load_paper, merge
from fedpriv.paper.tables import full_title
from fedpriv.report import compared as compare
from fedpriv.report.compared import read_csv
from fedpriv.report.lines import STATISTIC
from fedpriv.report.metrics import METRICS, printed_number
from fedpriv.report.numbers import Interval, interval
from fedpriv.report.render import read_texts
from fedpriv.report.results import flatten
from fedpriv.report.settings import shared_settings
from fedpriv.report.verdicts import verdict_alone
from fedpriv.schemes import SCHEMES
from fedpriv.store.rundir import RunDir
from fedpriv.store.summary import STORED, SUMMARY, stored_files

FULL = ("paper", "laptop")  # presets, of which the first that renders a paper shows it


def elements(folder: Path) -> list[Path]:
    """Return the texts of the rendered tables of RESULTS/PAPER, and then those of its figures."""
    return [path for kind in ("tables", "figures") for path in sorted((folder / kind).glob("*.json"))]


def rendered_names(folder: Path) -> list[str]:
    """Return the names of the rendered tables and figures of RESULTS/PAPER."""
    return [path.stem for path in elements(folder)]


def rendered_folders(reference: Path) -> dict[str, list[Path]]:
    """Return by paper the folders of its reference results, that which shows it first."""
    presets = sorted({path.parents[1] for path in reference.glob("*/*/tables")})
    fullest = sorted(presets, key=lambda path: FULL.index(path.name) if path.name in FULL else len(FULL))
    folders: dict[str, list[Path]] = {}
    for path in (path for preset in fullest for path in sorted(preset.glob("*/tables"))):
        folders.setdefault(path.parent.name, []).append(path.parent)
    return folders


def results_of(word: str, reference: Path) -> Path:
    """Return the results that a word means: RESULTS/PAPER, PRESET/PAPER of the reference, or a paper."""
    places = (Path(word), reference / word) if word else ()
    for folder in places:
        if elements(folder) or (folder / "claims.csv").exists():
            return folder
    by_paper = rendered_folders(reference)
    by_name = {"/".join(folder.parts[-2:]): folder for folders in by_paper.values() for folder in folders}
    there = {paper: folders[0] for paper, folders in by_paper.items()} | by_name
    return there[match_name("result", word, there, "fedpriv list tables")]


# Of what is read of the seeds of a table: numbers.
SEEDS = {"seed": "int64", "round": "float64", "accuracy": "float64", "epsilon": "float64"}
BESIDE = ("delta", "attacker_accuracy")  # quantities that the meaning of an ε says
MACHINE = ("hardware", "engine", "code")


def paper(folder: Path) -> dict[str, Any]:
    """Return the elements of RESULTS/PAPER, and its verdicts."""
    accuracies = compare.papers_cells(folder)
    claims = compare.claims(folder) if (folder / "claims.csv").exists() else pd.DataFrame({"verdict": []})
    return {
        "results": str(folder),
        "accuracies": Counter(map(verdict_alone, accuracies.get("verdict", ()))),
        "claims": Counter(claims["verdict"]),
        "elements": [
            {
                "kind": path.parent.name.removesuffix("s"),
                "name": path.stem,
                "title": read_texts(path)["title"],
            }
            for path in elements(folder)
        ],
    }


def element(folder: Path, name: str) -> dict[str, Any]:
    """Return a table or a figure as people read it, and its files.

    A name that is not there is BadInput with those that are.
    """
    name = match_name("table or figure", name, rendered_names(folder), f"fedpriv show {folder}")
    path = next(path for path in elements(folder) if path.stem == name)
    files = [str(file) for end in (".*", "_seeds.csv") for file in sorted(path.parent.glob(name + end))]
    return read_texts(path) | {"files": files}


def show(folder: Path, table: str, row: str, column: str, configs: Path) -> dict[str, Any]:
    """Return the numbers of a cell, or of all of a row, and a line for every run and seed behind them.

    `folder` is RESULTS/PAPER, or the same of the reference, whose runs are stored: those of the preset of
    that name in `configs`. `row` and `column` are words of the table's CSV, in any case; without a column it
    is the row. What is not there is BadInput that lists what is.
    """
    table = match_name("table", table, rendered_names(folder), f"fedpriv show {folder}")
    path = folder / "tables" / f"{table}.csv"
    lines = compare.read_csv(path, ["row", "column", "run"], dict.fromkeys([*STATISTIC, "delta"], "float64"))
    listing = f"fedpriv show {folder} {table}"
    lines = lines.loc[lines["row"] == match_name("row", row, lines["row"], listing)]
    if column:
        lines = lines.loc[lines["column"] == match_name("column", column, lines["column"], listing)]
    known = {
        (summary["run"], summary["seed"]): (summary, trace) for summary, trace in summaries(folder, configs)
    }
    names = sorted({run for run in lines["run"] if run})
    # What only some of the paper's runs have, or have otherwise.
    settings = {run: flatten(summary["config"]) for (run, _), (summary, _) in known.items()}
    shared = shared_settings(list(settings.values()))
    where = {(line["row"], line["column"]) for line in lines.to_dict("records")}
    return {
        "numbers": deltas_joined([number(line) for line in lines.to_dict("records")]),
        "seeds": [number(line) for line in seed_lines(path) if (line["row"], line["column"]) in where],
        "runs": {
            run: {
                "settings": {k: v for k, v in settings[run].items() if k not in shared},
                "seeds": {seed: facts(*known[name, seed]) for name, seed in sorted(known) if name == run},
            }
            for run in names
            if run in settings
        },
        "not run": [run for run in names if run not in settings],
    }


def seed_lines(table: Path) -> list[dict[Hashable, Any]]:
    """Return the lines of the seeds of a table of accuracies; of any other there are none."""
    path = table.with_name(f"{table.stem}_seeds.csv")
    return compare.read_csv(path, ["row", "column"], SEEDS).to_dict("records") if path.exists() else []


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
    """Return the cells of a line of a table's CSV that apply."""
    return {str(key): value for key, value in line.items() if value != "" and not pd.isna(value)}


def deltas_joined(numbers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join the δ to every ε, where the table has a line of its own for it."""

    def key(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row.get(name) for name in ("source", "run", "unit", *SELECTOR_COLUMNS))

    deltas = {key(row): row["value"] for row in numbers if row["quantity"] == "delta" and "value" in row}
    return [
        {"delta": deltas[key(row)], **row} if row["quantity"] == "epsilon" and key(row) in deltas else row
        for row in numbers
    ]


def facts(summary: Mapping[str, Any], trace: Path) -> dict[str, Any]:
    """Return the facts that a reviewer asks of one run and seed."""
    keys = ("identity", "results_version", "rounds", "test_accuracy", "evaluated_on", "seconds")
    environment = summary.get("environment", {})
    return {key: summary.get(key) for key in keys} | {
        "data": summary["data"]["name"],
        **{key: environment.get(key) for key in MACHINE},
        "trace": str(trace),
    }


def number_line(line: Mapping[str, Any]) -> dict[str, str]:
    """Return a number of `show` as people read it."""
    metric = METRICS.get(line["quantity"].partition("_")[0])
    return {
        "column": line["column"],
        "quantity": line["quantity"] + " (%)" * bool(metric and metric.percent),
        "": line.get("source", ""),
        "value": printed_number(line),
        "seeds": f"{line['seeds']:g}" if "seeds" in line else "",
        "status": line.get("status", "").removeprefix("ok"),
        "meaning": meaning(line),
    }


def meaning(line: Mapping[str, Any]) -> str:
    """Return all that gives an ε its meaning; of a published one its δ, of an audited one its status, too."""
    if line["quantity"] != "epsilon" or "delta" not in line:
        return ""
    if not {"kind", "value", "unit"} <= set(line):
        return ", ".join([f"at δ = {line['delta']:g}", *filter(None, [line.get("epsilon_status")])])
    words: dict[str, Any] = {
        field.name: line[field.name] for field in fields(PrivacyStatement) if field.name in line
    }
    words |= {"epsilon": line["value"], "violation": str(line.get("epsilon_status", "")).partition(": ")[2]}
    return str(PrivacyStatement(**words)).partition(" = ")[2].partition(" ")[2]


def resolve_run(config: Path, paper: str, run: str, reference: Path) -> dict[str, Any]:
    """Return every key of a run, and of every seed the identity and the trace.

    `paper` and `run` are those of the preset `config`, in any case; what is not there is BadInput that lists
    what is. A trace that is found neither in the preset's results nor below `reference` is null.
    """
    plan = load_preset(config, (paper, run))
    [(paper, [run])] = plan.runs.items()
    return {
        "paper": paper,
        "run": run,
        "keys": flatten(plan.runs[paper][run].model_dump(mode="json")),
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


Lines = list[dict[str, Any]]
Seeds = Mapping[str, list[int]]  # by run


def inventory(configs: Path, reference: Path, resources: Path, paper: str = "") -> dict[str, Lines]:
    """Lines of what is declared in `configs` and registered, by kind; of one paper or of all.

    Stored are runs and rendered tables below `reference`, and raw data below `resources`.
    """
    homes_of = {name: home for name, home in homes(configs / "papers").items() if paper in ("", name)}
    papers = [(load_paper(name, home), seeds(reference, name)) for name, home in homes_of.items()]
    return {
        "papers": [paper_counts(spec, stored) for spec, stored in papers],
        "runs": [line for spec, stored in papers for line in run_lines(spec, stored)],
        "tables": [line for spec, _ in papers for line in rendered_lines(spec, reference)],
        "datasets": [dataset_line(name, resources) for name in DATASETS],
        "schemes": [
            {
                "scheme": name,
                "unit": getattr(scheme, "unit", ""),
                "does": " ".join((scheme.__doc__ or "").split("\n\n")[0].split()),
            }
            for name, scheme in SCHEMES.items()
        ],
    }


def seeds(reference: Path, paper: str) -> Seeds:
    """Seeds of which a run of a paper is stored, as the names of files say it."""
    by_run: dict[str, set[int]] = {}
    for path in stored_files(reference, paper):
        if name := STORED.fullmatch(path.name):
            by_run.setdefault(path.parent.name, set()).add(int(name[1]))
    return {run: sorted(some) for run, some in by_run.items()}


def paper_counts(paper: Paper, stored: Seeds) -> dict[str, Any]:
    """Line of a paper, with the number of its runs and of those that are stored."""
    counts = {"runs": len(paper.runs), "stored": len(stored)}
    return {"paper": paper.paper, "year": paper.year, **counts, "title": paper.title}


def run_lines(paper: Paper, stored: Seeds) -> Iterator[dict[str, Any]]:
    """Yield every run of a paper with what tells it apart, before any preset has its say."""
    for name, own in paper.runs.items():
        config = merge(paper.defaults, own)
        scheme = config.get("scheme", "")
        yield {
            "paper": paper.paper,
            "run": name,
            "dataset": config.get("dataset", ""),
            "scheme": scheme.get("name", "") if isinstance(scheme, dict) else scheme,
            "seeds stored": stored.get(name, []),
        }


def rendered_lines(paper: Paper, reference: Path) -> Iterator[dict[str, Any]]:
    """Yield every table and figure of a paper, with the presets of which it is rendered in the reference."""
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


def dataset_line(name: str, resources: Path) -> dict[str, Any]:
    """Line of a dataset; it is here where it needs no network, or where anything was fetched for it."""
    dataset = DATASETS[name]
    fetched = any(resources.glob(f"{name}[./-]*")) or any(resources.glob(f"{name}/**/*.*"))
    return {
        "dataset": name,
        "gives": dataset.contents,
        "here": fetched or not dataset.network,
        "licence": dataset.licence,
    }


CELL = ["table", "row", "column"]
KINDS = "a run directory, a stored run, a folder of the seeds of either, RESULTS/PAPER, or a TABLE_seeds.csv"


class Result(NamedTuple):
    """Accuracies, a row a cell and seed, and what the runs were set to; of tables nothing is said of that."""

    accuracies: pd.DataFrame
    settings: dict[str, str]


class Pair(NamedTuple):
    """One cell of two results over the seeds of both: the mean of each, and how much higher the second is."""

    cell: tuple[str, ...]
    first: Interval
    second: Interval
    difference: Interval


def result(path: Path, like: Mapping[str, str] | None = None) -> Result:
    """Return the accuracies of a result: of runs at the last round, of tables at the round of each cell.

    Of several results of a seed that is meant whose settings are `like` those. What is none of `KINDS`, or
    has two results of a seed all the same, is BadInput.
    """
    tables = [path] if path.name.endswith("_seeds.csv") else sorted(path.glob("tables/*_seeds.csv"))
    if tables:
        numbers = {"seed": "int64", "accuracy": "float64"}
        read = [read_csv(table, [*CELL, "seed"], numbers) for table in tables]
        if accuracies := [frame for frame in read if "accuracy" in frame]:
            return Result(pd.concat(accuracies), {})
        raise BadInput(f"'{path}' holds no accuracies, and no other metric is compared.")
    finished = [*paired_summaries(path)]
    if not finished:
        raise BadInput(f"'{path}' holds no result. One is {KINDS}.")
    finished = [summary for summary in finished if settings_of(summary) == like] or finished
    lines = [(summary["run"], "", "", summary["seed"], summary["test_accuracy"]) for summary in finished]
    frame = pd.DataFrame(lines, columns=[*CELL, "seed", "accuracy"]).astype({"accuracy": "float64"})
    if frame["seed"].duplicated().any():
        raise BadInput(f"'{path}' holds two results of a seed. Name a file instead of the folder.")
    return Result(frame, settings_of(finished[0]))


def settings_of(summary: Mapping[str, Any]) -> dict[str, str]:
    """Every key of a run, as text."""
    return {key: str(value) for key, value in flatten(summary["config"]).items()}


def paired_summaries(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the summaries of the finished runs at a path."""
    if path.is_file():
        yield RunDir(path).summary
    for file in (*path.glob(SUMMARY), *sorted(path.glob(f"seed*/{SUMMARY}"))):
        yield RunDir(file.parent).summary
    yield from (RunDir(file).summary for file in sorted(path.glob("seed*")) if STORED.fullmatch(file.name))


def pairs(left: Result, right: Result) -> list[Pair]:
    """Return every cell that two results share; two runs are one cell, whatever they are called."""
    first, second = (
        {cell: rows.set_index("seed")["accuracy"] for cell, rows in side.accuracies.groupby(CELL, sort=False)}
        for side in (left, right)
    )
    if left.settings and right.settings:
        return [pair(("",), *first.values(), *second.values())]
    if not (cells := [cell for cell in first if cell in second]):
        raise BadInput(
            "These two results have no cell in common. Compare two of the same table, or two runs."
        )
    return [pair(cell, first[cell], second[cell]) for cell in cells]


def pair(cell: tuple[Any, ...], first: pd.Series, second: pd.Series) -> Pair:
    """Return one cell of two results over the seeds that both have; BadInput if there are none."""
    both = first.index.intersection(second.index)
    if both.empty:
        raise BadInput("These two results have no seed in common. Train the same seeds of both.")
    return Pair(cell, interval(first[both]), interval(second[both]), interval(second[both] - first[both]))
