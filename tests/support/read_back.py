"""What a reader sees of a rendered file, by parsers that know nothing of how it was written."""

import re
import unicodedata
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from matplotlib._mathtext_data import tex2uni

from support.nasty import together

# What LaTeX prints for each command, as matplotlib's reader of it has them, and for letters that it does not
# take as they stand.
LETTERS = {name: chr(code) for name, code in tex2uni.items()} | {"cdot": "·", "bullet": "•", "surd": "√"}
COMMANDS = {
    **{f"\\{letter}": letter for letter in "&%$#_{}"},
    **{"\\textbackslash{}": "\\", "\\textasciitilde{}": "~", "\\textasciicircum{}": "^"},
    **{
        "\\textbar{}": "|",
        "\\textasciigrave{}": "`",
        "{[}": "[",
        "{*}": "*",
        "{}": "",
        "''": "”",
        "{-}": "-",
    },
    **{"---": "—", "--": "–", "$<$": "<", "$>$": ">", "$-$": "−", r"$^{\circ}$": "°"},
    **{f"$\\{name}$": letter for name, letter in LETTERS.items()},
}
SCRIPTS = {"^": "⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "_": "₋₀₁₂₃₄₅₆₇₈₉"}
ACCENTS = dict(
    zip(
        "`'^~\"=.uvHcr",
        "\u0300\u0301\u0302\u0303\u0308\u0304\u0307\u0306\u030c\u030b\u0327\u030a",
        strict=True,
    )
)
LONGEST_FIRST = map(re.escape, sorted(COMMANDS, key=len, reverse=True))
TOKEN = re.compile("|".join([*LONGEST_FIRST, r"\$(?P<at>[\^_])\{(?P<script>[-\d]+)\}\$", "."]), re.DOTALL)
ACCENTED = re.compile(r"\\([`'^~\"=.uvHcr])\{([^{}\\])\}")


EMPTY = ("wbr", "img", "meta", "link", "br")  # elements


class Page(HTMLParser):
    """The elements of a page that hold text themselves, in order, and every tag and attribute."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[tuple[str, str]] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.described: list[str] = []
        self.open: list[list[str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        self.described += [together(value or "") for name, value in attrs if name == "alt"]
        if tag not in EMPTY:
            self.open.append([tag, ""])

    def handle_endtag(self, tag):
        if tag in EMPTY:
            return
        name, text = self.open.pop()
        assert name == tag
        self.texts.append((tag, together(text)))

    def handle_data(self, data):
        if self.open:
            self.open[-1][1] += data

    def of(self, *tags: str) -> list[str]:
        """Return the texts in elements of these tags."""
        return [text for tag, text in self.texts if tag in tags]


def markdown(text: str) -> Page:
    """Return a Markdown file as GitHub's reader sees it: CommonMark with tables and strikethrough."""
    return Page(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


def latex(text: str) -> str:
    """Return what LaTeX prints for prose in which there must be no markup and no end of a line."""
    while ACCENTED.search(text):
        text = ACCENTED.sub(lambda one: unicodedata.normalize("NFC", one[2] + ACCENTS[one[1]]), text)
    found = []
    for token in TOKEN.finditer(text):
        if token["script"]:
            found.append(token["script"].translate(str.maketrans("-0123456789", SCRIPTS[token["at"]])))
        elif token[0] in COMMANDS:
            found.append(COMMANDS[token[0]])
        else:
            assert token[0] not in "\\{}$&#^_~%\n\r|`", f"{token[0]!r} in {text[:200]!r}"
            found.append(token[0])
    return together("".join(found))
