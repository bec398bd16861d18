"""The report of a preset: one HTML page that holds all that was built, and needs nothing but itself."""

import base64
import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import yaml

from fedpriv.config.jobs import figure_names, forms
from fedpriv.config.plan import Plan
from fedpriv.errors import BadInput
from fedpriv.paper.claims import OURS
from fedpriv.paper.figures import FigureSpec
from fedpriv.paper.paper import Paper
from fedpriv.paper.tables import TableSpec, accuracy_tables, full_title, main_of_places
from fedpriv.progress import visible
from fedpriv.report import claims as compare
from fedpriv.report.claims import OUTCOMES, SOUNDNESS, UNSOUND
from fedpriv.report.figures import plain_style, published
from fedpriv.report.notes import data_note, runs, substitutes
from fedpriv.report.numbers import CUT, STANDING, SUBSTITUTE, verdict_counts
from fedpriv.report.render import fragment, read_table, read_texts
from fedpriv.report.results import load_results
from fedpriv.store.files import writing

# Of the page, to a pixel of a figure: its 8 points are then as large as the page's small type.
PIXEL = 0.42
DOCS = "../../docs"  # from results/<preset>


def write(plan: Plan, out: Path, stored: Path | None = None) -> Path:
    """Write the report of the results of a plan beside `out`, atomically; the same files give the same page.

    Where other data stand in for the papers' the page opens with the full-size results in the folder
    `stored`, if there are any. A missing file is BadInput that names it.
    """
    papers = {name: section(plan, name, out.parent / name) for name in plan.papers}
    cells = compared_cells(plan.papers, out.parent)
    instead = Counter(line[-1] for paper in papers.values() for line in paper["accuracies"])
    full = stored_results(plan.papers, stored) if stored and plan.preset.stand_ins else {}
    collected = max((out.parent / name / "runs.parquet").stat().st_mtime for name in papers)
    machines = [one for paper in papers.values() for one in paper["ran"].machines.values()]
    page = jinja2.Environment(
        loader=jinja2.PackageLoader("fedpriv.report", "page"),
        autoescape=True,
        finalize=lambda value: visible(value) if type(value) is str else value,  # what is HTML has its own
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template("page.html.j2")
    text = page.render(
        declared=plan.preset,
        docs=DOCS,
        papers=papers,
        verdicts=verdicts(cells),
        unlike=instead[SUBSTITUTE],
        cut=instead[CUT],
        picture=picture(cells),
        full=full,
        patches={
            glob: yaml.safe_dump(patch, default_flow_style=True, width=float("inf"), sort_keys=False).strip()
            for glob, patch in plan.preset.patches.items()
        },
        collected=datetime.fromtimestamp(collected, UTC).date().isoformat(),
        minutes=f"{sum(paper['ran'].seconds for paper in papers.values()) / 60:,.0f}",
        machines=distinct(f"{one['hardware']}, {one['engine']}" for one in machines),
        code=distinct(one["code"] for one in machines),
        data=distinct(note for paper in papers.values() for note in paper["data"]),
        outcomes=OUTCOMES,
        soundness=SOUNDNESS,
        standing=STANDING,
        headings=compare.ACCURACY_COLUMNS,
    )
    with writing(out) as path:
        path.write_text(text, encoding="utf-8")
    return out


def section(plan: Plan, name: str, folder: Path) -> dict[str, Any]:
    """Return what the page says of one paper."""
    results, paper = load_results(folder), plan.papers[name]
    claims = compare.claims(folder).to_dict("records")
    return {
        "declared": paper,
        "claims": {whose: [told(claim) for claim in some] for whose, some in apart(claims).items() if some},
        "counts": Counter(claim["outcome"] for claim in claims),
        "asked": len(claims),
        "unsound": sum(claim["soundness"] == UNSOUND for claim in claims),
        "accuracies": compare.published_accuracies(folder),
        "tables": opened(paper.tables, lambda name, spec: table(name, spec, folder)),
        "figures": opened(figure_names(plan, name), lambda name, spec: figure(name, spec, folder)),
        "ran": runs(results, list(paper.runs)),
        "data": data_note(results.runs),
        "replaced": substitutes(results.runs),
    }


def opened(declared: Mapping[str, Any], shown: Callable[[str, Any], dict[str, Any]]) -> dict[str, Any]:
    """Return tables or figures by whether a reader finds them open: the first for each place in the paper."""
    main = main_of_places(declared)
    found: dict[str, list[dict[str, Any]]] = {"open": [], "folded": []}
    for name, spec in declared.items():
        found["open" if name in main else "folded"].append(shown(name, spec))
    return found


def apart(claims: Iterable[Any]) -> dict[str, list[Any]]:
    """Return the claims of the paper, and the questions that we asked beside them: their ids say so."""
    theirs, ours = [], []
    for claim in claims:
        (ours if claim["id"].startswith(OURS) else theirs).append(claim)
    return {"Claims of the paper": theirs, "Our questions": ours}


def told(claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return a claim with its measured cells apart."""
    return {**claim, "measured": claim["measured"].split("; ")}


def stored_results(papers: Mapping[str, Paper], stored: Path) -> dict[str, Any]:
    """Return the picture and the counts of the stored results of these papers; nothing without any."""
    cells = compared_cells(papers, stored)
    return (
        {"picture": picture(cells), "verdicts": verdicts(cells), "folder": stored.as_posix()} if cells else {}
    )


def verdicts(panels: Mapping[str, pd.DataFrame]) -> str:
    """Return in words how the published accuracies came out."""
    return verdict_counts(verdict for cells in panels.values() for verdict in cells["verdict"])


def compared_cells(papers: Mapping[str, Paper], folder: Path) -> dict[str, pd.DataFrame]:
    """Return the published cells that were run on the papers' data, by the place of their table."""
    found: dict[str, pd.DataFrame] = {}
    for name, paper in papers.items():
        if (
            not (folder / name / "claims.csv").is_file()
            or (every := compare.papers_cells(folder / name)).empty
        ):
            continue
        every = every.loc[every["value"].notna() & (every["stand_in_for"] == "") & (every["cut"] == "")]
        for table, cells in every.groupby("table", sort=False):
            declared = accuracy_tables(paper.tables)[str(table)]
            rows = {str(row.key): row.label or f"{row.clients:,}" for row in declared.rows}
            named = {"row": cells["row"].map(rows), "column": cells["column"].map(declared.labels)}
            found[declared.theirs.partition(",")[0]] = cells.assign(**named)
    return found


def picture(panels: Mapping[str, pd.DataFrame]) -> str:
    """Return the picture of published beside reproduced as a data URL, or nothing without any cell."""
    if not panels:
        return ""
    written = io.BytesIO()
    with plain_style():
        published.draw_published(panels).savefig(written, dpi=160, metadata={"Software": None})
    return data_url(written.getvalue())


def data_url(image: bytes) -> str:
    """Return a PNG as a URL that holds it."""
    return f"data:image/png;base64,{base64.b64encode(image).decode()}"


def table(name: str, declared: TableSpec, folder: Path) -> dict[str, Any]:
    """Return a rendered table and what it is called in the contents."""
    html = fragment(read_table(folder / f"tables/{name}.json"))
    return {"name": name, "title": full_title(declared), "html": html, "forms": forms(declared)}


def figure(name: str, declared: FigureSpec, folder: Path) -> dict[str, Any]:
    """Return a figure as a data URL with all that stands beside it: title, caption, notes, description."""
    image = content(folder / f"figures/{name}.png")
    said = read_texts(folder / f"figures/{name}.json")
    # The header of a PNG says its width in bytes 16 to 20.
    width = round(PIXEL * int.from_bytes(image[16:20]))
    return said | {"name": name, "url": data_url(image), "width": width, "forms": ["pdf", "png", "md"]}


def content(path: Path) -> bytes:
    """Read a rendered file; BadInput if it is missing."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise BadInput(f"{path}: found no such file, allowed: a table or figure that was built") from None


def distinct(texts: Iterable[str]) -> list[str]:
    """Return the different texts, in order; the empty one says nothing."""
    return [text for text in dict.fromkeys(texts) if text]
