"""Texts that are markup, formulas or commands somewhere; and how each looks where it is only seen."""

import unicodedata

OF_HTML = [
    *("<script>alert(1)</script>", "</td></table><b>", "<!-- -->", "1 < 2 > 1", "&nbsp;"),
    *("a & b &amp; &lt; &#60;", "'single' \"double\"", "{{ 7 * 7 }}", "{% raw %}", "published", "a.bc_de"),
]
OF_MARKDOWN = [
    "|",
    "a|b \\| c\\",
    "`one` ``two",
    "*e* **f**",
    "*",
    "* star",
    "~c~ ~~d~~",
    "~~~",
    "```",
    "_a_ __b__ a_b",
    "# head",
    "tail #",
    "#",
    "- item",
    "1. item",
    "2) item",
    "> quote",
    "---",
    "- - -",
    "[ ] todo",
    "[x]: y",
    *("[x](javascript:alert(1))", "![x](y.png)", "[a] b]", "[8, 16]", "[x][y]", "<https://example.org>"),
]
OF_LATEX = [
    *("\\input{x}", r"\begin{tabular}", "50 % #1 x^2 {e} }", "$x_$", "$x$ and $y$", "\\$x$", "\\", "\\n"),
    *("''two``", "?`!`", "a -- b --- c –- d", "ε ≤ 10⁻³ · √2 — −1", "[option]", "\\hline & \\\\"),
]
OF_SHEETS = [
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "'=1",
    "''-1-1",
    "\t=1",
    " =1",
    "\uff1d1",
    "-0.5",
    "+7",
    "1e5",
    "007",
    *("NA", "nan", "None", "null", "N/A", "True", "1", "a,b", '"'),
]
OF_TERMINALS = [
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x00",
    "\x7f",
    "\x9b31m",
    "\x85",
    "\x0b\x0c",
    "over\rwritten",
    *("\u202eevil", "\u2066x\u2069", "a\u200bb", "\u2028x\u2029", "\ufeffmark", "[red]x[/red]", ":fox_face:"),
]
OF_LETTERS = [
    *("two\nlines", "\r\nblank\n\n\nlines\n", "a\ttab", "   leading", "trailing   ", "in  side", "_hidden"),
    *("🦊 👩\u200d👧", "漢字かな交じり文", "e\u0301 Z\u0337\u0327\u031b", "\u00a0wide\u2003", "%s {0}"),
    *("x" * 5000, "long " * 1000),
]
NASTY = [*OF_HTML, *OF_MARKDOWN, *OF_LATEX, *OF_SHEETS, *OF_TERMINALS, *OF_LETTERS]


def seen(text: str) -> str:
    """Return a text as a reader sees it: spaces run together, what has no look is spelt as Python does."""
    shown = []
    for letter in text.strip("\r\n"):
        hidden = unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") and letter not in "\t\r\n"
        shown.append(ascii(letter)[1:-1] if hidden else letter)
    return together("".join(shown))


def together(text: str) -> str:
    """Return a text with its spaces run together, and none at its ends: only files tell them apart."""
    return " ".join(text.split())
