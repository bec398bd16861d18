"""One table, several files: tidy CSV for machines, Markdown, booktabs LaTeX and HTML for people."""

import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from fedpriv.files.atomic import writing

MATHS = {
    "±": "pm",
    "×": "times",
    "·": "cdot",
    "≤": "leq",
    "≥": "geq",
    "≈": "approx",
    "∞": "infty",
    "√": "surd",
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "δ": "delta",
    "ε": "varepsilon",
    "λ": "lambda",
    "μ": "mu",
    "ρ": "rho",
    "σ": "sigma",
}
LATEX = {
    **{letter: rf"$\{command}$" for letter, command in MATHS.items()},
    **{letter: rf"\{letter}" for letter in "&%$#_{}"},
    "<": "$<$",
    ">": "$>$",
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "–": "--",
    "—": "---",
}
# Narrower than the page, a table keeps its size; wider, it is shrunk to the page.
FIT = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{"
IN_A_NAME = re.compile("(?<=[a-z][._])(?=[a-z]{2})")  # where a long name of a run or a key may be broken
FROM_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


class Table(NamedTuple):
    """A table to be printed: cells are finished text; a column's name is a pair (group, name)."""

    name: str
    title: str
    tidy: pd.DataFrame
    display: pd.DataFrame
    notes: list[str]
    details: Sequence[str] = ()  # numbered, one for every line of the table
    column_format: str = ""  # of LaTeX; by default every column is as wide as its longest cell


def write(table: Table, stem: Path) -> list[Path]:
    """Write `stem`.csv, .md and .tex, each atomically."""
    texts = {".md": markdown(table), ".tex": latex(table)}
    with writing(stem.with_suffix(".csv")) as path:
        table.tidy.to_csv(path, index=False)
    for suffix, text in texts.items():
        with writing(stem.with_suffix(suffix)) as path:
            path.write_text(text, encoding="utf-8")
    return [stem.with_suffix(suffix) for suffix in (".csv", *texts)]


def flat(display: pd.DataFrame) -> pd.DataFrame:
    """Return the same table with one line of column names."""
    return display.set_axis([" ".join(filter(None, names)) for names in display.columns], axis=1)


def markdown(table: Table) -> str:
    """Return the table, its details and its notes."""
    body = flat(table.display).to_markdown(index=False, disable_numparse=True)
    details = [f"{number}. {text}" for number, text in enumerate(table.details, start=1)]
    notes = [f"- {note}" for note in table.notes]
    blocks = (f"# {table.title}", body, "\n".join(details), "\n".join(notes))
    return "\n\n".join(filter(None, blocks)) + "\n"


def escape(text: str) -> str:
    """Return `text` for LaTeX: nothing in it is markup, and the letters of the papers are maths."""
    escaped = "".join(LATEX.get(letter, letter) for letter in text)
    return re.sub(
        "[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda raised: f"$^{{{raised[0].translate(FROM_SUPERSCRIPTS)}}}$", escaped
    )


def latex(table: Table) -> str:
    r"""Return a floating table with booktabs rules, to be read by \input; needs booktabs and graphicx."""
    shown = table.display.map(escape)
    shown.columns = pd.MultiIndex.from_tuples([tuple(map(escape, names)) for names in shown.columns])
    text = shown.style.hide(axis="index").to_latex(
        hrules=True,
        caption=escape(table.title),
        label=f"tab:{table.name}",
        position_float="centering",
        column_format=table.column_format or "l" * shown.shape[1],
        multicol_align="c",
    )
    notes = "\n".join(rf"\par\noindent {escape(note)}" for note in table.notes)
    under = (
        f"\\par\\smallskip\n\\begin{{minipage}}{{\\linewidth}}\\footnotesize\n{notes}\n\\end{{minipage}}\n"
    )
    text = text.replace(r"\begin{tabular}", FIT + r"\begin{tabular}").replace(
        r"\end{tabular}", r"\end{tabular}}"
    )
    text = text.replace(r"\end{table}", under + r"\end{table}")
    # Outside of the float: a page may break between them.
    items = "\n".join(rf"\item {escape(detail)}" for detail in table.details)
    return text + (f"\\begin{{enumerate}}\\footnotesize\n{items}\n\\end{{enumerate}}\n" if items else "")


def fragment(table: Table) -> str:
    """Return title, table and notes as a piece of the HTML report, whose style sheet knows the classes."""
    body = table.display.to_html(index=False, escape=True, border=0, classes="numbers", justify="left")
    body = body.replace("<td>published</td>", '<td class="published">published</td>')
    body = IN_A_NAME.sub("<wbr>", body)
    notes = "\n".join(f"<li>{html.escape(note)}</li>" for note in table.notes)
    return (
        f"<figcaption>{html.escape(table.title)}</figcaption>\n"
        f'<div class="scroll">\n{body}\n</div>\n'
        f"<details><summary>{len(table.notes)} notes</summary>\n<ul>\n{notes}\n</ul>\n</details>\n"
    )
