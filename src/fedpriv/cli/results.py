"""What a folder of results says: the JSON and CSV that tables, figures and claims leave there.

The JSON of a table has the names and texts that people read; its CSV has the numbers, a line each, under the
keys of the paper's YAML. A *cell* joins the two. Nothing heavy is imported, so that to look takes no second.

    [cell["printed"] for cell in table_cells(Path("results/reference/paper/bdp2019/tables/table2.json"))]
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fedpriv.errors import BadInput, nearest, no_such, plain
from fedpriv.report.texts import INDENT, read_texts, unescape_csv
from fedpriv.report.verdicts import CLAIM_COUNTS, counts_text, verdict_counts

FULL = ("paper", "laptop")  # presets, of which the first that renders a paper shows it
OURS = "ours"  # the place of a claim that is not the paper's
NUMBERS = ("value", "low", "high", "seeds", "delta")
MEASURED = ("value", "low", "high", "seeds", "status", "substitute_for", "cut", "run")  # of a cell
MEANING = (  # of an ε, in the order in which it is read
    *("unit", "relation", "sampling_law", "accounting", "accountant", "composition", "distance"),
    "sensitivity",
)
CLAIM = ("claim", "place", "verdict", "outcome", "soundness")
CELL = ("table", "row", "column", "run")


# Where results are


def elements(folder: Path) -> list[Path]:
    """Return the texts of the rendered tables of RESULTS/PAPER, and then those of its figures."""
    return [path for kind in ("tables", "figures") for path in sorted((folder / kind).glob("*.json"))]


def rendered_folders(reference: Path) -> dict[str, list[Path]]:
    """Return by paper the folders of its reference results, that which shows it first."""
    presets = sorted({path.parents[1] for path in reference.glob("*/*/tables")})
    fullest = sorted(presets, key=lambda path: FULL.index(path.name) if path.name in FULL else len(FULL))
    folders: dict[str, list[Path]] = {}
    for path in (path for preset in fullest for path in sorted(preset.glob("*/tables"))):
        folders.setdefault(path.parent.name, []).append(path.parent)
    return folders


def named_folders(reference: Path) -> dict[str, Path]:
    """Return the folders of reference results by what a person calls them: PAPER, or PRESET/PAPER."""
    by_paper = rendered_folders(reference)
    every = [folder for folders in by_paper.values() for folder in folders]
    shown = {paper: folders[0] for paper, folders in by_paper.items()}
    return shown | {"/".join(folder.parts[-2:]): folder for folder in every}


def results_of(word: str, reference: Path) -> Path:
    """Return the results that a word means: RESULTS/PAPER, PRESET/PAPER of the reference, or a paper."""
    for folder in (Path(word), reference / word) if word else ():
        if elements(folder) or (folder / "claims.csv").exists():
            return folder
    known = {name.casefold(): folder for name, folder in named_folders(reference).items()}
    if folder := known.get(word.casefold()):
        return folder
    raise no_results(word, known)


def no_results(word: str, known: Iterable[str]) -> BadInput:
    """Return the sentence about a word that means no results: a table, a folder, or a name."""
    name = plain(word)
    if re.match("(?i)table|figure", word):
        return BadInput(f"'{name}' of which paper? Name the paper first: fedpriv show PAPER {name} ...")
    if "/" not in word:
        return no_such("result", word, [paper for paper in known if "/" not in paper])
    if nearest(word, known):
        return no_such("result", word, known)
    return BadInput(f"No folder '{name}'. A run is trained into it by: fedpriv run ... --out {name}")


def papers_in(folder: Path) -> list[Path]:
    """Return the folder if it is RESULTS/PAPER, or the papers in it if it is RESULTS; they were judged."""
    judged = [folder] if (folder / "claims.csv").exists() else []
    judged = judged or sorted(path.parent for path in folder.glob("*/claims.csv"))
    if not judged:
        raise BadInput(f"{folder}: found no claims.csv in it or one below, allowed: RESULTS or RESULTS/PAPER")
    return judged


def element_named(folder: Path, words: Sequence[str]) -> tuple[Path, Sequence[str]]:
    """Return the texts of the table or figure that the first of some words name, and the other words.

    It is named as its file is, or as in the paper: table2, or Table II. BadInput lists what is there.
    """
    there = elements(folder)
    titles = {str(read_texts(path)["title"]).partition(".")[0].casefold(): path for path in there[::-1]}
    names = titles | {path.stem.casefold(): path for path in there}
    for many in (1, 2):
        if path := names.get(" ".join(words[:many]).casefold()):
            return path, words[many:]
    raise no_such("table or figure", words[0], [path.stem for path in there], f"fedpriv show {folder}")


# What they say


def read_lines(
    path: Path, columns: Iterable[str], is_number: Callable[[str], bool] = NUMBERS.__contains__
) -> list[dict[str, Any]]:
    """Read a CSV file that must have `columns`; a missing or damaged one is BadInput naming it.

    In a column that `is_number` there are numbers, and None for no number; all else is text, whatever it
    looks like.
    """

    def value(name: str, text: str) -> Any:
        if not is_number(name):
            return unescape_csv(text)
        return int(text) if text.isdigit() else float(text) if text else None

    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in columns if name not in (reader.fieldnames or ())]
            lines = [{name: value(name, text) for name, text in line.items()} for line in reader]
    except (OSError, ValueError, TypeError, csv.Error) as error:
        raise BadInput(f"{path}: found no CSV file ({error}), allowed: what the workflow writes") from None
    if missing:
        raise BadInput(f"{path}: found no column {missing[0]}, allowed: what the workflow writes")
    return lines


def table_cells(path: Path) -> list[dict[str, Any]]:
    """Return the cells of a table of accuracies, row by row; of any other table there are none.

    `path` is the JSON of the table. A cell has the keys of its row and column, what is published and what is
    reproduced, the verdict, every ε with its meaning, the `label` of its row, the `heading` of its column and
    the texts that are `printed`, by line of the row; no text where nothing of a row was run.
    """
    numbers = path.with_suffix(".csv")
    lines = read_lines(numbers, ()) if numbers.exists() else []
    by_key: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in lines if lines and "source" in lines[0] else ():
        by_key.setdefault((line["row"], line["column"]), []).append(line)
    cells = [*map(cell_of_lines, by_key.values())]
    if cells:
        add_texts(cells, read_texts(path))
    return cells


def cell_of_lines(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a cell as the lines of a CSV say it; of the published lines the number is first, so of ours."""
    cell: dict[str, Any] = {name: lines[0][name] for name in ("table", "row", "column", "quantity")}
    published, ours = (
        [line for line in lines if line["source"] == source] for source in ("published", "reproduced")
    )
    if published:
        cell |= {"published": published[0]["value"], "verdict": published[0]["verdict"]}
    cell |= {name: ours[0].get(name, "") for name in MEASURED}
    epsilons: list[dict[str, Any]] = []
    for line in ours:
        if line["quantity"] == "epsilon":
            words = {name: line[name] for name in (*MEANING, "epsilon_status") if line.get(name)}
            epsilons.append({"epsilon": line["value"], "low": line["low"], "high": line["high"]} | words)
        elif line["quantity"] == "delta":  # of the ε before it
            epsilons[-1]["delta"] = line["value"]
    return cell | {"epsilons": epsilons}


def add_texts(cells: Sequence[dict[str, Any]], texts: Mapping[str, Any]) -> None:
    """Add the texts of their table to its cells."""
    labels, headings = names_in_table(cells, texts)
    rows = {label: {line[""]: line for line in row_lines(texts, label)} for label in labels.values()}
    for cell in cells:
        row, column = str(cell["row"]), str(cell["column"])
        label, heading = labels.get(row, row), headings.get(column, column)
        line = rows.get(label, {}).get(heading, {})
        printed = {name: text for name, text in line.items() if name}
        cell |= {"label": label, "heading": heading, "printed": printed}


def names_in_table(
    cells: Sequence[Mapping[str, Any]], texts: Mapping[str, Any]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return what a table calls the rows and the columns of its cells, by their keys: both are in one order.

    A table has first the columns in which the paper prints anything, and only the rows of which something was
    run, unless there is no other.
    """
    printed = {cell["column"] for cell in cells if "published" in cell}
    columns = sorted(dict.fromkeys(cell["column"] for cell in cells), key=lambda name: name not in printed)
    headings = [heading for block in texts["blocks"] for heading in block["columns"][1:]]
    ran = [cell for cell in cells if cell["status"] != "not run"] or cells
    rows = dict.fromkeys(cell["row"] for cell in ran)
    return dict(zip(rows, row_labels(texts), strict=False)), dict(zip(columns, headings, strict=False))


def row_labels(texts: Mapping[str, Any]) -> list[str]:
    """Return what the rows of a table are called."""
    rows = [row for block in texts["blocks"] for row in block["rows"]]
    return list(dict.fromkeys(row[0] for row in rows if not row[0].startswith(INDENT)))


def row_lines(texts: Mapping[str, Any], label: str) -> list[dict[str, str]]:
    """Return a row of any table as lines, one for each of its columns; what stands under the row is of it."""
    lines = []
    for block in texts["blocks"]:
        rows, inside = [], False
        for row in block["rows"]:
            inside = row[0] == label or (inside and row[0].startswith(INDENT))
            rows += [row] * inside
        for number, heading in enumerate(block["columns"][1:], start=1):
            line = {"": heading}
            for row in rows:
                name = f"{block['columns'][0]} {label}" if row[0] == label else row[0].strip()
                line[f"{name} ({len(line)})" if name in line else name] = row[number]
            lines.append(line)
    return lines


def meaning_text(epsilon: Mapping[str, Any]) -> str:
    """Return all that gives an ε its meaning but its δ and its status."""
    return ", ".join(f"{name.replace('_', ' ')} {epsilon[name]}" for name in MEANING if epsilon.get(name))


def seed_lines(path: Path) -> list[dict[str, Any]]:
    """Read a TABLE_seeds.csv, a line for every seed of a cell: the metric and the ε at the round read off."""
    return read_lines(path, (*CELL, "seed"), lambda name: name not in CELL and not name.endswith("status"))


def claim_lines(folder: Path) -> list[dict[str, Any]]:
    """Return the judged claims of RESULTS/PAPER, a line each."""
    lines = read_lines(folder / "claims.csv", (*CLAIM, *CLAIM_COUNTS), CLAIM_COUNTS.__contains__)
    return [{name: line[name] for name in (*CLAIM, *CLAIM_COUNTS)} for line in lines]


Published = list[tuple[dict[str, Any], list[dict[str, Any]]]]


def published_cells(folder: Path) -> Published:
    """Return the texts of every table that has published numbers, and the cells that have one."""
    every = [(path, table_cells(path)) for path in sorted((folder / "tables").glob("*.json"))]
    printed = [(path, [cell for cell in cells if "published" in cell]) for path, cells in every]
    return [(read_texts(path), cells) for path, cells in printed if cells]


def outcomes(folder: Path, published: Published) -> dict[str, dict[str, int]]:
    """Return how often published numbers, claims of the paper and claims of ours have which verdict."""
    numbers = (cell["verdict"] for texts, cells in published if texts["main"] for cell in cells)
    counts = {"published numbers": verdict_counts(numbers)}
    claims = claim_lines(folder) if (folder / "claims.csv").exists() else []
    for whose, ours in (("the paper", False), ("ours", True)):
        verdicts = Counter(claim["verdict"] for claim in claims if (claim["place"] == OURS) is ours)
        counts[f"claims of {whose}"] = dict(verdicts.most_common())
    return {what: verdicts for what, verdicts in counts.items() if verdicts}


def outcome_texts(paper: str, outcomes: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return how the published numbers and the claims of a paper came out, a sentence each."""
    return [
        f"{paper}: {sum(counts.values())} {what}: {counts_text(counts)}" for what, counts in outcomes.items()
    ]
