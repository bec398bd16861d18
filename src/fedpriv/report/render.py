"""One table, several files: tidy CSV for machines, Markdown, booktabs LaTeX and HTML for people."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

import pandas as pd

from fedpriv.account.statement import legend
from fedpriv.errors import BadInput
from fedpriv.report.texts import (
    INDENT,
    LATEX,
    OWN_COLUMNS,
    escape_csv,
    escape_html,
    escape_latex,
    escape_markdown,
    read_texts,
)
from fedpriv.store.files import writing

LONG = 13  # letters of what a row is called, of which more are a line of their own in LaTeX
IN_A_NAME = re.compile("(?<=[a-z][._])(?=[a-z]{2})")  # where a long name of a run or a key may be broken


class PrintedTable(NamedTuple):
    """A table in its three forms: the table itself, its numbers, and what to know before believing it."""

    name: str
    title: str
    tidy: pd.DataFrame  # every number, unrounded, a line each
    display: pd.DataFrame  # of finished text
    notes: Sequence[str] = ()  # what nobody can read the table without
    items: Sequence[str] = ()  # numbered, one for every line of the table
    details: Sequence[str] = ()  # what it rests on
    ours: pd.DataFrame | None = None  # columns that the paper does not have, of the same rows
    seeds: pd.DataFrame | None = None  # of a table of accuracies: a line for every seed of a cell
    cells: str = ""  # what they are, of a table that a paper would print: as LaTeX, too
    caption: str = ""  # what people wrote of it
    place: str = ""  # in the paper; the title begins with it
    main: bool = False  # whether its cells count as the paper's: of several tables for a place the first

    @property
    def blocks(self) -> list[pd.DataFrame]:
        """The parts of the table."""
        return [self.display, *([] if self.ours is None else [self.ours])]


def write_table_files(table: PrintedTable, stem: Path) -> list[Path]:
    """Write `stem`.csv, .json and .md, a printed one as .tex; seeds to `stem`_seeds.csv; each whole.

    The last note says what the marks in its texts mean.
    """
    cells = (cell for block in table.blocks for cell in block.to_numpy().ravel())
    if marks := legend(table.caption, *table.items, *cells):
        table = table._replace(notes=[*table.notes, f"ε {marks}."])
    frames = {".csv": table.tidy} | ({} if table.seeds is None else {"_seeds.csv": table.seeds})
    texts = {end: escape_frame(frame, escape_csv).to_csv(index=False) for end, frame in frames.items()}
    texts |= {".json": as_json(table), ".md": markdown(table)}
    texts |= {".tex": latex(table, f"{stem.parent.parent.name}-{stem.name}")} if table.cells else {}
    files = [stem.with_name(stem.name + end) for end in texts]
    for file, text in zip(files, texts.values(), strict=True):
        with writing(file) as path:
            path.write_text(text, encoding="utf-8", newline="")
    return files


def as_json(table: PrintedTable) -> str:
    """Return the text of a table for programs: the page, the terminal and the documentation print it."""
    blocks = [{"columns": list(block.columns), "rows": block.to_numpy().tolist()} for block in table.blocks]
    texts = {name: list(getattr(table, name)) for name in ("notes", "items", "details")}
    words = {name: getattr(table, name) for name in ("title", "place", "main", "caption")}
    content = {**words, "blocks": blocks, **texts}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def read_table(path: Path) -> PrintedTable:
    """Read what `as_json` has written, all but the numbers; any other file is BadInput naming it."""
    texts = read_texts(path)
    try:
        blocks = texts.pop("blocks")
        frames = [pd.DataFrame(block["rows"], columns=block["columns"], dtype=str) for block in blocks]
        parts = dict(zip(("display", "ours"), frames, strict=False))
        return PrintedTable(name=path.stem, tidy=pd.DataFrame(), **parts, **texts)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadInput(f"{path}: found no table ({error}), allowed: what the workflow writes") from None


def escape_frame(frame: pd.DataFrame, escape: Callable[[str], str]) -> pd.DataFrame:
    """Return a frame for a medium: its texts and the names of its columns go through `escape`."""
    return frame.map(lambda cell: escape(cell) if isinstance(cell, str) else cell).rename(columns=escape)


def grids(table: PrintedTable) -> list[str]:
    """Return every block in Markdown, with what stands above ours."""
    first, *ours = (
        escape_frame(block, escape_markdown).to_markdown(index=False, disable_numparse=True)
        for block in table.blocks
    )
    return [first, *(part for grid in ours for part in (OWN_COLUMNS, grid))]


def markdown(table: PrintedTable) -> str:
    """Return the caption, the table, its items and its notes."""
    items = [f"{number}. {escape_markdown(text)}" for number, text in enumerate(table.items, start=1)]
    notes = [f"- {escape_markdown(note)}" for note in table.notes]
    above = f"# {escape_markdown(table.title)}", escape_markdown(table.caption)
    parts = (*above, *grids(table), "\n".join(items), "\n".join(notes))
    return "\n\n".join(filter(None, parts)) + "\n"


def short_caption(title: str, place: str) -> str:
    """Return what a table or figure shows, a sentence without its place in the paper."""
    return (title[len(place) + 2 :] if place else title).rstrip(".") + "."


def latex(table: PrintedTable, label: str) -> str:
    r"""Return a floating table to be read by \input, as wide as its text; it needs booktabs alone.

    Its caption is a sentence, and its notes have the rest. Its label is `tab:` and the `label`.
    """
    blocks = f"\n\\par\\smallskip {OWN_COLUMNS}\\par\\smallskip\n".join(
        tabular(block, table.cells) for block in table.blocks
    )
    caption = short_caption(table.title, table.place)
    every = filter(None, (table.caption, *table.notes))
    notes = "".join(f"\\par {escape_latex(note)}\n" for note in every)
    return (
        "% needs \\usepackage{booktabs}\n"
        "\\begin{table}\n\\centering\\footnotesize\\setlength{\\tabcolsep}{3pt}\n"
        f"\\caption{{{escape_latex(caption)}}}\n\\label{{tab:{label}}}\n\\smallskip\n"
        f"{blocks}\n\\par\\smallskip\\raggedright\\scriptsize\n{notes}\\end{{table}}\n"
    )


def tabular(block: pd.DataFrame, cells: str) -> str:
    """Return one block with booktabs rules; headings are broken where that makes their columns narrower."""
    escaped = escape_frame(block, escape_latex)
    heads = [escape_latex(block.columns[0])]
    for name in block.columns[1:]:
        least = max(map(len, (*name.split(" "), *block[name])))
        heads.append(r" \\ ".join(map(escape_latex, wrap(name, least, break_long_words=False))))
    lines = [" & ".join([heads[0], *(rf"\shortstack[r]{{{head}}}" for head in heads[1:])]) + r" \\ \midrule"]
    for number, (first, *others) in enumerate(escaped.itertuples(index=False)):
        if number and not first.startswith(LATEX[INDENT]):
            lines.append(r"\addlinespace[2pt]")
        if len(str(block.iloc[number, 0])) > LONG:  # on a line of its own
            lines.append(rf"\multicolumn{{{len(heads)}}}{{@{{}}l}}{{{first}}} \\")
            first = LATEX[INDENT] + cells
        lines.append(" & ".join((first, *(tex.replace(" $\\pm$ ", r"\,$\pm$\,") for tex in others))) + r" \\")
    form = f"@{{}}l{'r' * (escaped.shape[1] - 1)}@{{}}"
    return "\n".join([rf"\begin{{tabular}}{{{form}}}", r"\toprule", *lines, r"\bottomrule", r"\end{tabular}"])


def fragment(table: PrintedTable) -> str:
    """Return title, table and notes as a piece of the HTML report, whose style sheet knows the classes."""
    blocks = [
        escape_frame(block, lambda text: escape_html(text).replace(INDENT, "&ensp;")).to_html(
            index=False, escape=False, border=0, classes="numbers", justify="left"
        )
        for block in table.blocks
    ]
    body = IN_A_NAME.sub("<wbr>", f"\n<p>{OWN_COLUMNS}</p>\n".join(blocks)).replace(
        "<th>", '<th scope="col">'
    )
    notes = "\n".join(f"<p>{escape_html(note)}</p>" for note in table.notes)
    details = "\n".join(f"<li>{escape_html(detail)}</li>" for detail in table.details)
    caption = f"<p>{escape_html(table.caption)}</p>\n" if table.caption else ""
    return (
        f"<figcaption>{escape_html(table.title)}</figcaption>\n{caption}"
        f'<div class="scroll">\n{body}\n</div>\n<div class="notes">\n{notes}\n</div>\n'
        + f"<details><summary>Before you believe it</summary>\n<ul>\n{details}\n</ul>\n</details>\n"
        * bool(table.details)
    )
