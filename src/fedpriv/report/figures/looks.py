"""What a colour, a marker and a dash mean: a thing looks the same in every figure of a paper."""

from collections import Counter
from collections.abc import Iterable
from itertools import cycle
from typing import Any

from fedpriv.paper.figures import LinesFigure

SOLID, DASHED, DOTTED, CHAIN = "-", (0, (4, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5))
# Colour, marker, dash, and whose they are: accountants by their names, runs by what readers know them by. The
# colours are as dark as words on white must be (WCAG: 4.5 to 1); dash and marker tell the same apart in grey.
_MEANINGS = (
    ("#000000", "o", SOLID, "no privacy", "no noise", "baseline", "published"),
    ("#0072B2", "s", DASHED, "moments", "DP", "client level", "document", "γ = 0.4"),
    ("#9C3F77", "D", DOTTED, "bayesian", "BDP", "γ = 0.2"),
    ("#00795A", "^", CHAIN, "pld", "Wei et al.", "γ = 0.3", "i.i.d."),
    ("#C04A00", "v", DASHED, "rdp", "repository", "γ = 0.1", "non-i.i.d."),
    ("#8A6400", "P", CHAIN, "DP, small clipping norm", "S = median", "document, uploads cut off", "matrix"),
    ("#007C91", "p", SOLID, "100 clients", "S = 1", "exact"),
    ("#5E4FA2", "X", DASHED, "1,000 clients", "theorem"),
    ("#5F6B00", "^", CHAIN, "joint (both levels)"),
    ("#A50F2A", "d", DOTTED, "split, the server clips", "authors' clipping", "γ = 0"),
    ("#8C510A", "v", (0, (6, 1.5)), "split, clients clip"),
)
LOOKS = {
    name: {"color": color, "marker": marker, "linestyle": dash}
    for color, marker, dash, *names in _MEANINGS
    for name in names
}
DASHES = (SOLID, DASHED, DOTTED, CHAIN)  # of several of one meaning, as their markers are filled
FILLS = ("full", "none", "left", "bottom")
GREY = "#606060"


def color_of(label: str) -> str:
    """Return the colour of what has this label; black where it has none of its own."""
    return LOOKS.get(curve_meaning(label), LOOKS["published"])["color"]


def curve_meaning(label: str, accountant: str = "") -> str:
    """Meaning of a curve: the longest name that its label begins with, else its accountant or label."""
    words = label.split(", ")
    begins = (", ".join(words[:count]) for count in range(len(words), 0, -1))
    return next((name for name in begins if name in LOOKS), accountant or label)


def of_curves(declared: LinesFigure) -> list[dict[str, Any]]:
    """Return the looks of the curves of a panel."""
    accountants = [spend.accountant for spend in declared.spends.values()] or [""]
    if len(declared.lines) > 1:  # a colour tells runs apart, not accountants
        accountants = [""] * len(accountants)
    return looks(curve_meaning(label, one) for label in declared.lines.values() for one in accountants)


def looks(meanings: Iterable[str]) -> list[dict[str, Any]]:
    """Return the looks of curves of these meanings; the second of one is dashed, and its markers are hollow.

    What has no look of its own takes those that are left, in its order.
    """
    names = list(meanings)
    used = [LOOKS[name]["color"] for name in names if name in LOOKS]
    left = cycle({look["color"]: look for look in LOOKS.values() if look["color"] not in used}.values())
    known = {name: LOOKS.get(name) or next(left) for name in dict.fromkeys(names)}
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        nth, seen[name] = seen[name], seen[name] + 1
        found.append(known[name] | {"fillstyle": FILLS[nth % 4]})
        if len(known) < len(names):
            found[-1]["linestyle"] = DASHES[nth % 4]
    return found
