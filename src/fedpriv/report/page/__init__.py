"""The report of a preset: one HTML page that holds all that was built, and needs nothing but itself."""

import base64
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import yaml
from PIL import Image

from fedpriv.config.files import figure_names, forms
from fedpriv.config.plan import Plan
from fedpriv.paper.claims import OUR_QUESTION
from fedpriv.paper.figures import FigureSpec
from fedpriv.paper.paper import Paper
from fedpriv.paper.tables import TableSpec, accuracy_tables, full_title, main_of_places
from fedpriv.progress import visible
from fedpriv.report import compared as compare
from fedpriv.report.figures import plain_style, published
from fedpriv.report.notes import data_names, minutes, substitutes, unique
from fedpriv.report.render import fragment, read_table
from fedpriv.report.results import load_results
from fedpriv.report.texts import read_texts
from fedpriv.report.verdicts import OUTCOMES, SOUNDNESS, STANDING, UNSOUND
from fedpriv.store.files import writing
from fedpriv.store.summary import glance_at, is_uncommitted

# Of the page, to a pixel of a figure: its 8 points are then as large as the page's small type.
PIXEL = 0.42
COLOURS = 48  # of an image on the page, which is then a quarter of its file
PLAN = re.compile(r'<meta name="fedpriv-plan" content="([0-9a-f]*)">')


def write_report(plan: Plan, out: Path, stored: Path | None = None, mark: str = "") -> Path:
    """Write the report of the results of a plan beside `out`, atomically; the same files give the same page.

    Where other data stand in for the papers' the page opens with the full-size results in the folder
    `stored`, if there are any. The page keeps the `mark` of the plan.
    """
    papers = {name: section(plan, name, out.parent / name) for name in plan.papers}
    full = {}
    if stored and plan.preset.substitutes and (cells := compared_cells(plan.papers, stored)):
        full = {"picture": picture(cells), "folder": stored.as_posix()}
        full["summary"] = counts_by_paper(plan.papers, stored)
    text = template().render(
        declared=plan.preset,
        mark=mark,
        papers=papers,
        full=full,
        headings=compare.PUBLISHED_COLUMNS,
        **first_screen(plan, papers, out.parent),
        **colophon(plan, papers.values(), out.parent),
    )
    with writing(out) as path:
        path.write_text(text, encoding="utf-8")
    return out


def template() -> jinja2.Template:
    """Return the template of the page: a text is visible, and a name that is not there is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fedpriv.report", "page"),
        autoescape=True,
        finalize=lambda value: visible(value) if type(value) is str else value,  # what is HTML has its own
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2")


def first_screen(plan: Plan, papers: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what came out, of all papers: the counts, the picture, and what verdicts mean that are there."""
    counted = {outcome for paper in papers.values() for outcome, count in paper["counts"].items() if count}
    return {
        "summary": counts_by_paper(plan.papers, folder),
        "trained": trained_words(papers, folder),
        "picture": picture(compared_cells(plan.papers, folder)),
        "outcomes": {outcome: meaning for outcome, meaning in OUTCOMES.items() if outcome in counted},
        "soundness": SOUNDNESS if any(paper["unsound"] for paper in papers.values()) else {},
        "standing": STANDING,
    }


def colophon(plan: Plan, papers: Iterable[Mapping[str, Any]], folder: Path) -> dict[str, Any]:
    """Return what the results rest on: the preset's changes, data, machines, code, and when."""
    sections = list(papers)
    collected = max((folder / name / "runs.parquet").stat().st_mtime for name in plan.papers)
    machines = (", ".join(machine) for paper in sections for machine in paper["machines"])
    return {
        "patches": {
            glob: yaml.safe_dump(patch, default_flow_style=True, width=float("inf"), sort_keys=False).strip()
            for glob, patch in plan.preset.patches.items()
        },
        "collected": datetime.fromtimestamp(collected, UTC).date().isoformat(),
        "minutes": minutes(sum(paper["seconds"] for paper in sections)),
        "machines": dict.fromkeys(machines),
        "code": code_words([version for paper in sections for version in paper["code"]]),
        "data": dict.fromkeys(paper["data"] for paper in sections),
    }


def plan_mark(report: Path) -> str:
    """Return the mark of the plan that a report was written for; empty: it has none, or is no report."""
    match = PLAN.search(report.read_text(encoding="utf-8", errors="replace")) if report.is_file() else None
    return match[1] if match else ""


def counts_by_paper(papers: Mapping[str, Paper], folder: Path) -> str:
    """Return how the published numbers of each paper came out, a sentence each."""
    texts = [(paper, compare.accuracies_text([name], folder)) for name, paper in papers.items()]
    return " ".join(f"{paper.by} {paper.year}: {text}" for paper, text in texts if text)


def section(plan: Plan, name: str, folder: Path) -> dict[str, Any]:
    """Return the section of one paper."""
    results, paper = load_results(folder), plan.papers[name]
    judged = compare.claims(folder).to_dict("records")
    claims: dict[str, list[dict[Any, Any]]] = {}
    for claim in sorted(judged, key=lambda claim: claim["id"].startswith(OUR_QUESTION)):
        whose = "Our questions" if claim["id"].startswith(OUR_QUESTION) else "Claims of the paper"
        claims.setdefault(whose, []).append({**claim, "measured": claim["measured"].split("; ")})
    return {
        "declared": paper,
        "claims": claims,
        "counts": Counter(claim["outcome"] for claim in judged),
        "asked": len(judged),
        "unsound": sum(claim["soundness"] == UNSOUND for claim in judged),
        "accuracies": compare.published_words(folder),
        "tables": open_and_folded(paper.tables, lambda name, spec: table(name, spec, folder)),
        "figures": open_and_folded(figure_names(plan, name), lambda name, spec: figure(name, spec, folder)),
        "ran": fragment(read_table(folder / "runs.json")),
        "machines": unique(results.runs, ("hardware", "engine")),
        "seconds": results.rounds["seconds"].sum(),
        "data": data_names(results.runs),
        "code": list(results.runs["code"]),
        "replaced": substitutes(results.runs),
    }


def open_and_folded(
    declared: Mapping[str, Any], content: Callable[[str, Any], dict[str, Any]]
) -> dict[str, Any]:
    """Return tables or figures by whether a reader finds them open: the first for each place in the paper."""
    main = main_of_places(declared)
    contents: dict[str, list[dict[str, Any]]] = {"open": [], "folded": []}
    for name, spec in declared.items():
        contents["open" if name in main else "folded"].append(content(name, spec))
    return contents


def trained_words(papers: Iterable[str], folder: Path) -> str:
    """Count the runs trained here, and those stored before; nothing without any."""
    runs = [glance_at(path) for name in papers for path in folder.glob(f"{name}/runs/*/seed*")]
    stored = sum(elsewhere for _, elsewhere in runs)
    others = "; the others are stored runs, which come with the code" if stored else ""
    return f"Trained here: {len(runs) - stored} of {len(runs)} runs{others}." if runs else ""


def code_words(versions: Sequence[str]) -> str:
    """Count the commits that the code of runs is of, and the runs of trees that no commit has."""
    dirty = sum(map(is_uncommitted, versions))
    commits = {version.removesuffix("-dirty") for version in versions}
    count = f"{len(commits)} version{'s' * (len(commits) != 1)}"
    return f"{count}; {dirty} of {len(versions)} runs are of trees with uncommitted changes"


def compared_cells(papers: Mapping[str, Paper], folder: Path) -> dict[str, pd.DataFrame]:
    """Return the published accuracies of what was run on the papers' data, by the place of their table."""
    tables: dict[str, pd.DataFrame] = {}
    for name, paper in papers.items():
        there = (folder / name / "claims.csv").is_file()
        if not there or (every := compare.papers_cells(folder / name)).empty:
            continue
        every = every.loc[every["value"].notna() & (every["substitute_for"] == "") & (every["cut"] == "")]
        every = every.loc[every["quantity"] == "accuracy"]
        for table, cells in every.groupby("table", sort=False):
            declared = accuracy_tables(paper.tables)[str(table)]
            rows = {str(row.key): row.label or f"{row.clients:,}" for row in declared.rows}
            named = {"row": cells["row"].map(rows), "column": cells["column"].map(declared.labels)}
            marks = sorted({row.not_judged for row in declared.rows if row.not_judged})
            tables["; ".join([declared.theirs.partition(",")[0], *marks])] = cells.assign(**named)
    return tables


def picture(panels: Mapping[str, pd.DataFrame]) -> str:
    """Return the picture of published beside reproduced as a data URL, or nothing without any cell."""
    if not panels:
        return ""
    written = io.BytesIO()
    with plain_style():
        published.draw_published(panels).savefig(written, dpi=160, metadata={"Software": None})
    return data_url(written.getvalue())


def data_url(image: bytes) -> str:
    """Return a PNG as a URL that holds it, in few colours."""
    small = io.BytesIO()
    with Image.open(io.BytesIO(image)) as whole:
        whole.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(small.getvalue()).decode()}"


def table(name: str, declared: TableSpec, folder: Path) -> dict[str, Any]:
    """Return a rendered table and what it is called in the contents."""
    html = fragment(read_table(folder / f"tables/{name}.json"))
    return {"name": name, "place": place_name(declared), "html": html, "forms": forms(declared)}


def figure(name: str, declared: FigureSpec, folder: Path) -> dict[str, Any]:
    """Return a figure as a data URL with all that stands beside it: title, caption, notes, description."""
    texts = read_texts(folder / f"figures/{name}.json")
    image = (folder / f"figures/{name}.png").read_bytes()
    # The header of a PNG says its width in bytes 16 to 20.
    width = round(PIXEL * int.from_bytes(image[16:20]))
    facts = {"name": name, "place": place_name(declared), "url": data_url(image), "width": width}
    return texts | facts | {"forms": ["pdf", "png", "md"]}


def place_name(declared: TableSpec | FigureSpec) -> str:
    """Return the name of a table or figure in the contents: its place in the paper, or its title."""
    return declared.theirs.partition(",")[0] or full_title(declared)
