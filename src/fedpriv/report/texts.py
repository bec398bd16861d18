"""A text of anybody in every medium: a reader sees it, and nothing in it is markup, formula or control.

Each text goes through the function of its medium once, where it is written. All are of one line.
"""

import html
import re
from itertools import pairwise

from fedpriv.terminal import visible

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
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "–": "--",
    "—": "---",
}
LIGATURES = {"''"} | {one + other for one in "-–—" for other in "-–—"}  # LaTeX makes one sign of the two
SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")

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
    """Return `text` for LaTeX, where the letters of the papers are maths."""
    line = visible(text)
    apart = (
        "{}" * (one + other in LIGATURES) + LATEX.get(other, other) for one, other in pairwise(f" {line}")
    )
    escaped = re.sub(
        "[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda raised: f"$^{{{raised[0].translate(SUPERSCRIPTS)}}}$", "".join(apart)
    )
    # After the end of a line of a table these would be its options.
    return re.sub(r"^ *([\[*])", r"{\1}", escaped)


def escape_figure(text: str) -> str:
    """Return `text` for matplotlib: nothing is maths, and no label is left out of a legend."""
    line = visible(text)
    line = line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
    return line.replace("$", r"\$").replace("_", " _", line.startswith("_"))
