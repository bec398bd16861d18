"""One table, several files: tidy CSV for machines, Markdown, booktabs LaTeX and HTML for people.

A text of anybody goes through the function of its medium once, where it is written: a reader sees it, and
nothing in it is markup, formula or control. All are of one line.
"""

import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, reduce
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from fedpriv.progress import visible
from fedpriv.store.files import writing

# ruff: noqa: RUF001  (letters that look like others)


# Letters that LaTeX has in its maths, each with its command.
MATHS = """
    α alpha β beta γ gamma δ delta ε varepsilon ζ zeta η eta θ theta ι iota κ kappa λ lambda μ mu ν nu ξ xi
    π pi ρ rho ς varsigma σ sigma τ tau υ upsilon φ varphi χ chi ψ psi ω omega ϕ phi ϑ vartheta ϵ epsilon
    Γ Gamma Δ Delta Θ Theta Λ Lambda Ξ Xi Π Pi Σ Sigma Υ Upsilon Φ Phi Ψ Psi Ω Omega ℓ ell ∂ partial ∇ nabla
    ± pm ∓ mp × times ÷ div · cdot ∘ circ ⊕ oplus ⊗ otimes ∑ sum ∏ prod ∫ int √ surd ∞ infty ∅ emptyset
    ≤ leq ≥ geq ⩽ leq ⩾ geq ≪ ll ≫ gg ≈ approx ≠ neq ≡ equiv ∼ sim ≃ simeq ∝ propto ⊥ perp ∥ parallel
    ∈ in ∉ notin ∋ ni ⊂ subset ⊆ subseteq ∪ cup ∩ cap ∀ forall ∃ exists ¬ neg ∧ wedge ∨ vee ⟨ langle ⟩ rangle
    → to ← leftarrow ↔ leftrightarrow ⇒ Rightarrow ⇐ Leftarrow ⇔ Leftrightarrow ↑ uparrow ↓ downarrow ↦ mapsto
    † dagger ‡ ddagger • bullet … ldots ′ prime
"""
LATEX = {
    **{letter: rf"$\{command}$" for letter, command in re.findall(r"(\S) (\w+)", MATHS)},
    **{letter: rf"\{letter}" for letter in "&%$#_{}"},
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧο", "ABEZHIKMNOPTXo", strict=True)),  # of Greek, as Latin has them
    "<": "$<$",
    ">": "$>$",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "‐": "{-}",
    "⁄": "/",
    "°": r"$^{\circ}$",
}
ACCENTS = dict(
    zip(
        "\u0300\u0301\u0302\u0303\u0308\u0304\u0307\u0306\u030c\u030b\u0327\u030a",
        "`'^~\"=.uvHcr",
        strict=True,
    )
)
KNOWN = "ßæÆøØœŒłŁ“”‘’¿¡§¶©£"  # as they stand, in the fonts that LaTeX begins with
LIGATURES = {"''"} | {one + other for one in "-–—" for other in "-–—"}  # LaTeX makes one sign of the two
SCRIPTS = {
    "^": str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"),
    "_": str.maketrans("₋₀₁₂₃₄₅₆₇₈₉", "-0123456789"),
}

# How a cell begins that a spreadsheet computes, with signs of either width; or one of these in quotes.
FORMULA = re.compile(r"'*\s*[-=+@\uff0d\uff1d\uff0b\uff20]")

# What CommonMark and GitHub's tables read as markup, wherever it stands or at an end of a block. A pair of
# brackets that is no link and no box to tick is none.
MARKUP = re.compile(
    r"[|`*~$\[\]]|\\(?=[!-/:-@\[-`{-~]|$)|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])|!(?=\[)"
    r"|^(?:#{1,6}|[-+]|\d{1,9}[.)])(?= |$)|^>|^-(?=[- ]+$)|(?<= )#+$"
)
PAIR = re.compile(r"(?!^\[[ xX]\] )\[[^\[\]]*\](?![(\[:])")
ENTITIES = {"<": "&lt;", "&": "&amp;"}

LONGEST = 400  # letters of a text in a picture, which has no room for more; all of it stands beside it


def escape_html(text: str) -> str:
    """Return `text` for the content of an element."""
    return html.escape(visible(text))


def escape_markdown(text: str) -> str:
    """Return `text` for a heading, a paragraph, an item, a cell or the description of a picture."""
    line = visible(text).strip(" ")
    paired = {at for pair in PAIR.finditer(line) for at in (pair.start(), pair.end() - 1)}

    def escaped(sign: re.Match[str]) -> str:
        if sign.start() in paired:
            return sign[0]
        return ENTITIES.get(sign[0], f"{sign[0][:-1]}\\{sign[0][-1]}")

    return MARKUP.sub(escaped, line)


def unescape_markdown(text: str) -> str:
    """Return the text that `escape_markdown` escaped."""
    plain = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)
    return plain.replace("&lt;", "<").replace("&amp;", "&")


def escape_csv(text: str) -> str:
    """Return `text` for a cell: a quote stands before what would be computed, unless it is a number."""
    line = visible(text)
    return f"'{line}" if computed(line) else line


def unescape_csv(cell: str) -> str:
    """Return the text that `escape_csv` made a cell of."""
    return cell[1:] if cell.startswith("'") and computed(cell[1:]) else cell


def computed(text: str) -> bool:
    """Return whether a cell is a formula, or one in quotes."""
    try:
        float(text)
    except ValueError:
        return bool(FORMULA.match(text))
    return False


def escape_latex(text: str) -> str:
    """Return `text` for LaTeX, where the letters of the papers are maths: whatever it is, it compiles.

    What LaTeX has no letter for in the fonts that it begins with is spelt as Python does.
    """
    line = unicodedata.normalize("NFC", visible(text))
    apart = ("{}" * (one + other in LIGATURES) + latex_letter(other) for one, other in pairwise(f" {line}"))
    escaped = "".join(apart)
    for sign, digits in SCRIPTS.items():
        some = f"[{''.join(map(chr, digits))}]+"
        escaped = re.sub(some, lambda it, sign=sign, of=digits: f"${sign}{{{it[0].translate(of)}}}$", escaped)
    # After the end of a line of a table these would be its options.
    return re.sub(r"^ *([\[*])", r"{\1}", escaped)


@cache
def latex_letter(letter: str) -> str:
    """Return one letter for LaTeX; those of `SCRIPTS` as they are."""
    if letter in LATEX:
        return LATEX[letter]
    if letter.isascii() or letter in KNOWN or any(ord(letter) in some for some in SCRIPTS.values()):
        return letter
    base, *marks = unicodedata.normalize("NFD", letter)
    if base.isalpha() and base.isascii() and marks and set(marks) <= set(ACCENTS):
        return reduce(lambda whole, mark: rf"\{ACCENTS[mark]}{{{whole}}}", marks, base)
    plain = unicodedata.normalize("NFKC", letter)
    return "".join(map(latex_letter, ascii(letter)[1:-1] if plain == letter else plain))


def escape_figure(text: str) -> str:
    """Return `text` for matplotlib: nothing is maths, and no label is left out of a legend."""
    line = visible(text)
    line = line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
    return line.replace("$", r"\$").replace("_", " _", line.startswith("_"))


# Narrower than the page, a table keeps its size; wider, it is shrunk to the page.
FIT = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{"
IN_A_NAME = re.compile("(?<=[a-z][._])(?=[a-z]{2})")  # where a long name of a run or a key may be broken


class PrintedTable(NamedTuple):
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


def write(table: PrintedTable, stem: Path) -> list[Path]:
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


def markdown(table: PrintedTable) -> str:
    """Return the caption, the table, its details and its notes."""
    body = escaped(flat(table.display), escape_markdown).to_markdown(index=False, disable_numparse=True)
    details = [f"{number}. {escape_markdown(text)}" for number, text in enumerate(table.details, start=1)]
    notes = [f"- {escape_markdown(note)}" for note in table.notes]
    above = f"# {escape_markdown(table.title)}", escape_markdown(table.caption)
    blocks = (*above, body, "\n".join(details), "\n".join(notes))
    return "\n\n".join(filter(None, blocks)) + "\n"


def latex(table: PrintedTable) -> str:
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


def fragment(table: PrintedTable) -> str:
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
