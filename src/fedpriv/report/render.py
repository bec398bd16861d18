"""One table, several files: tidy CSV for machines, Markdown, booktabs LaTeX and HTML for people.

A text of anybody goes through the function of its medium once, where it is written: a reader sees it, and
nothing in it is markup or control. All are of one line.
"""

import html
import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

import pandas as pd

from fedpriv.account.statement import legend
from fedpriv.errors import BadInput
from fedpriv.progress import visible
from fedpriv.store.files import writing

# ruff: noqa: RUF001  (letters that look like others)


INDENT = "\u2002"  # before what stands under a row
LONG = 13  # letters of what a row is called, of which more are a line of their own in LaTeX
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
    INDENT: r"\enspace{}",
}
# As they stand, in the fonts that LaTeX begins with: signs, and Latin letters with an accent but an ogonek.
ACCENTED = {chr(code) for code in range(0xC0, 0x180) if len(unicodedata.normalize("NFD", chr(code))) == 2}
KNOWN = {*"ßæÆøØœŒłŁ“”‘’¿¡§¶©£"} | ACCENTED - {*"ĄąĘęĮįŲų"}
LIGATURES = {"''"} | {left + right for left in "-–—" for right in "-–—"}  # LaTeX makes one sign of the two
SCRIPTS = {
    "^": str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"),
    "_": str.maketrans("₋₀₁₂₃₄₅₆₇₈₉", "-0123456789"),
}

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


def escape_latex(text: str) -> str:
    """Return `text` for LaTeX, where the letters of the papers are maths: whatever it is, it compiles.

    What LaTeX has no letter for in the fonts that it begins with is spelt as Python does.
    """
    line = unicodedata.normalize("NFC", visible(text))
    pairs = pairwise(f" {line}")
    escaped = "".join("{}" * (left + right in LIGATURES) + latex_letter(right) for left, right in pairs)
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
    plain = unicodedata.normalize("NFKC", letter)
    return "".join(map(latex_letter, ascii(letter)[1:-1] if plain == letter else plain))


FORMULA = re.compile(r"'*[=+\-@＝＋－＠]")  # also as wide as other letters of some scripts


def escape_csv(text: str) -> str:
    """Return `text` for a CSV file that people open: before what a spreadsheet would compute stands `'`."""
    line = visible(text)
    with suppress(ValueError):
        float(line)  # a number is none
        return line
    return f"'{line}" if FORMULA.match(line) else line


def unescape_csv(text: str) -> str:
    """Return the line that `escape_csv` has made this of."""
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def escape_figure(text: str) -> str:
    """Return `text` for matplotlib: nothing is maths, and no label is left out of a legend."""
    line = visible(text)
    line = line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
    return line.replace("$", r"\$").replace("_", " _", line.startswith("_"))


IN_A_NAME = re.compile("(?<=[a-z][._])(?=[a-z]{2})")  # where a long name of a run or a key may be broken


OURS = "In this reproduction alone:"  # above the columns that the paper does not have


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


def read_texts(path: Path) -> dict[str, Any]:
    """Read the texts beside a table or figure; a missing or damaged file is BadInput that names it."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise BadInput(f"{path}: found no such file, allowed: a table or figure that was built") from None
    except (OSError, ValueError, TypeError) as error:
        raise BadInput(f"{path}: found no texts ({error}), allowed: what the workflow writes") from None


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
    return [first, *(part for grid in ours for part in (OURS, grid))]


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
    blocks = f"\n\\par\\smallskip {OURS}\\par\\smallskip\n".join(
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
    body = IN_A_NAME.sub("<wbr>", f"\n<p>{OURS}</p>\n".join(blocks)).replace("<th>", '<th scope="col">')
    notes = "\n".join(f"<p>{escape_html(note)}</p>" for note in table.notes)
    details = "\n".join(f"<li>{escape_html(detail)}</li>" for detail in table.details)
    caption = f"<p>{escape_html(table.caption)}</p>\n" if table.caption else ""
    return (
        f"<figcaption>{escape_html(table.title)}</figcaption>\n{caption}"
        f'<div class="scroll">\n{body}\n</div>\n<div class="notes">\n{notes}\n</div>\n'
        + f"<details><summary>Before you believe it</summary>\n<ul>\n{details}\n</ul>\n</details>\n"
        * bool(table.details)
    )
