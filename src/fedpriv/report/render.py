"""One table, several files: tidy CSV for machines, Markdown, booktabs LaTeX and HTML for people."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from fedpriv.files.atomic import writing
from fedpriv.report.texts import escape_csv, escape_html, escape_latex, escape_markdown

# Narrower than the page, a table keeps its size; wider, it is shrunk to the page.
FIT = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{"
IN_A_NAME = re.compile("(?<=[a-z][._])(?=[a-z]{2})")  # where a long name of a run or a key may be broken


class Table(NamedTuple):
    """A table to be printed: cells are finished text; a column's name is a pair (group, name)."""

    name: str
    title: str
    tidy: pd.DataFrame
    display: pd.DataFrame
    notes: list[str]
    details: Sequence[str] = ()  # numbered, one for every line of the table
    column_format: str = ""  # of LaTeX; by default every column is as wide as its longest cell
    seeds: pd.DataFrame | None = None  # of a table of accuracies: a line for every seed of a cell
    printed: bool = False  # whether a paper would print it: as LaTeX, too
    caption: str = ""  # what people wrote of it


def write(table: Table, stem: Path) -> list[Path]:
    """Write `stem`.csv and .md, a printed one as .tex, and the seeds to `stem`_seeds.csv, each atomically."""
    frames = {".csv": table.tidy} | ({} if table.seeds is None else {"_seeds.csv": table.seeds})
    texts = {".md": markdown(table)} | ({".tex": latex(table)} if table.printed else {})
    files = [stem.with_name(stem.name + end) for end in (*frames, *texts)]
    for file, frame in zip(files, frames.values(), strict=False):
        with writing(file) as path:
            escaped(frame, escape_csv).to_csv(path, index=False)
    for file, text in zip(files[len(frames) :], texts.values(), strict=True):
        with writing(file) as path:
            path.write_text(text, encoding="utf-8")
    return files


def escaped(frame: pd.DataFrame, escape: Callable[[str], str]) -> pd.DataFrame:
    """Return the same frame for a medium: its texts and the names of its columns go through `escape`."""

    def told(cell: object) -> object:
        return escape(cell) if isinstance(cell, str) else cell

    return frame.map(told).rename(columns=escape)


def flat(display: pd.DataFrame) -> pd.DataFrame:
    """Return the same table with one line of column names."""
    return display.set_axis([" ".join(filter(None, names)) for names in display.columns], axis=1)


def markdown(table: Table) -> str:
    """Return the caption, the table, its details and its notes."""
    body = escaped(flat(table.display), escape_markdown).to_markdown(index=False, disable_numparse=True)
    details = [f"{number}. {escape_markdown(text)}" for number, text in enumerate(table.details, start=1)]
    notes = [f"- {escape_markdown(note)}" for note in table.notes]
    above = f"# {escape_markdown(table.title)}", escape_markdown(table.caption)
    blocks = (*above, body, "\n".join(details), "\n".join(notes))
    return "\n\n".join(filter(None, blocks)) + "\n"


def latex(table: Table) -> str:
    r"""Return a floating table with booktabs rules, to be read by \input; needs booktabs and graphicx."""
    text = (
        escaped(table.display, escape_latex)
        .style.hide(axis="index")
        .to_latex(
            hrules=True,
            caption=escape_latex(f"{table.title}. {table.caption}" if table.caption else table.title),
            label=f"tab:{table.name}",
            position_float="centering",
            column_format=table.column_format or "l" * table.display.shape[1],
            multicol_align="c",
        )
    )
    notes = "\n".join(rf"\par\noindent {escape_latex(note)}" for note in table.notes)
    under = (
        f"\\par\\smallskip\n\\begin{{minipage}}{{\\linewidth}}\\footnotesize\n{notes}\n\\end{{minipage}}\n"
    )
    text = text.replace(r"\begin{tabular}", FIT + r"\begin{tabular}").replace(
        r"\end{tabular}", r"\end{tabular}}"
    )
    text = text.replace(r"\end{table}", under + r"\end{table}")
    # Outside of the float: a page may break between them.
    items = "\n".join(rf"\item {escape_latex(detail)}" for detail in table.details)
    return text + (f"\\begin{{enumerate}}\\footnotesize\n{items}\n\\end{{enumerate}}\n" if items else "")


def fragment(table: Table) -> str:
    """Return title, table and notes as a piece of the HTML report, whose style sheet knows the classes."""
    body = escaped(table.display, escape_html).to_html(
        index=False, escape=False, border=0, classes="numbers", justify="left"
    )
    body = body.replace("<td>published</td>", '<td class="published">published</td>')
    body = IN_A_NAME.sub("<wbr>", body)
    notes = "\n".join(f"<li>{escape_html(note)}</li>" for note in table.notes)
    caption = f"<p>{escape_html(table.caption)}</p>\n" if table.caption else ""
    return (
        f"<figcaption>{escape_html(table.title)}</figcaption>\n{caption}"
        f'<div class="scroll">\n{body}\n</div>\n'
        f"<details><summary>{len(table.notes)} notes</summary>\n<ul>\n{notes}\n</ul>\n</details>\n"
    )
