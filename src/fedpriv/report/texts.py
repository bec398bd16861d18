"""The texts of tables and figures: escaped for each medium, read again from their JSON; free of pandas.

A text of anybody goes through the function of its medium once, where it is written: a reader sees it, and
nothing in it is markup or control. All are of one line.
"""

import html
import json
import re
import unicodedata
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from fedpriv.errors import BadInput
from fedpriv.progress import visible

# ruff: noqa: RUF001  (letters that look like others)


OWN_COLUMNS = "In this reproduction alone:"  # above the columns that the paper does not have
INDENT = "\u2002"  # before what stands under a row
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
        pattern = f"([{''.join(map(chr, digits))}]+)"
        escaped = re.sub(pattern, rf"${sign}{{\1}}$", escaped).translate(digits)
    # After the end of a line of a table these would be its options.
    return re.sub(r"^ *([\[*])", r"{\1}", escaped)


@cache
def latex_letter(letter: str) -> str:
    """Return one letter for LaTeX; those of `SCRIPTS` as they are."""
    if letter in LATEX:
        return LATEX[letter]
    if letter.isascii() or letter in KNOWN or any(ord(letter) in digits for digits in SCRIPTS.values()):
        return letter
    plain = unicodedata.normalize("NFKC", letter)
    return "".join(map(latex_letter, ascii(letter)[1:-1] if plain == letter else plain))


FORMULA = re.compile(r"'*[=+\-@＝＋－＠]")  # also as wide as the letters of other scripts


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


def read_texts(path: Path) -> dict[str, Any]:
    """Read the texts beside a table or figure; a missing or damaged file is BadInput that names it."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise BadInput(f"{path}: found no such file, allowed: a table or figure that was built") from None
    except (OSError, ValueError, TypeError) as error:
        raise BadInput(f"{path}: found no texts ({error}), allowed: what the workflow writes") from None
