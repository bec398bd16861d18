"""How a figure looks: a thing has one colour, marker and dash in all of a paper, and labels are legible.

Labels stand not on each other, on no point, and on a curve only where they must.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle, product
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox

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


def curve_looks(declared: LinesFigure) -> list[dict[str, Any]]:
    """Return the looks of the curves of a panel."""
    accountants = [selector.accountant for selector in declared.accountants.values()] or [""]
    if len(declared.lines) > 1:  # a colour tells runs apart, not accountants
        accountants = [""] * len(accountants)
    return looks(curve_meaning(label, name) for label in declared.lines.values() for name in accountants)


def looks(meanings: Iterable[str]) -> list[dict[str, Any]]:
    """Return the looks of curves of these meanings; the second of one is dashed, and its markers are hollow.

    What has no look of its own takes those that are left, in its order.
    """
    names = list(meanings)
    used = [LOOKS[name]["color"] for name in names if name in LOOKS]
    left = cycle({look["color"]: look for look in LOOKS.values() if look["color"] not in used}.values())
    known = {name: LOOKS.get(name) or next(left) for name in dict.fromkeys(names)}
    seen: Counter[str] = Counter()
    styles = []
    for name in names:
        nth, seen[name] = seen[name], seen[name] + 1
        styles.append(known[name] | {"fillstyle": FILLS[nth % 4]})
        if len(known) < len(names):
            styles[-1]["linestyle"] = DASHES[nth % 4]
    return styles


WIDE = 18  # letters of a line of a label at the end of a curve
SIDES = ((1, -1), (1, 1), (-1, -1), (-1, 1), (0, 1), (0, -1), (1, 0), (-1, 0))
DISTANCES = (4.0, 8.0, 13.0, 19.0, 26.0, 34.0)  # points, from a label to what it is of
LED = 12.0  # from here on a line leads there
ALONG = ((0.98, -1), (0.02, 1), (0.5, 0), (0.75, 0), (0.25, 0))  # points along a line across, and their sides
HIDDEN, CROSSED = 1000, 30  # what it costs, in points of distance


class Label(NamedTuple):
    """Words about a point, or without `x` about a line across the axes."""

    text: str
    x: float | None
    y: float
    color: str


def place_labels(axes: Axes, labels: Iterable[Label]) -> None:
    """Write labels into axes that are laid out, one after the other, each where it hides least."""
    lines = [line for line in axes.get_lines() if line.get_linestyle() != "None"]
    curves = [line.get_transform().transform_path(line.get_path()) for line in lines]
    taken = [*(point.padded(1) for point in points(axes)), *(text.get_window_extent() for text in axes.texts)]
    to_axes = axes.transAxes.inverted()
    for label in labels:
        text = axes.text(0, 0, label.text, transform=axes.transAxes, color=label.color, zorder=7)
        text.set(in_layout=False, va="bottom")
        size = np.array(text.get_window_extent().size)

        def cost(candidate: tuple[Bbox, np.ndarray, float]) -> float:
            box, _, distance = candidate
            hidden = sum(box.overlaps(other) for other in taken)
            outside = not all(axes.bbox.contains(*corner) for corner in (box.min, box.max))
            crossed = sum(curve.intersects_bbox(box, filled=False) for curve in curves)
            return HIDDEN * (hidden + outside) + CROSSED * crossed + distance

        box, at, distance = min(candidates(axes, label, size), key=cost)
        text.set_position(tuple(to_axes.transform(box.min)))
        taken.append(box)
        if distance > LED:
            x, y = to_axes.transform([at, np.clip(at, box.min, box.max)]).T
            style: dict[str, Any] = {"linewidth": 0.5, "linestyle": "-", "marker": "", "color": label.color}
            axes.add_line(Line2D(x, y, transform=axes.transAxes, **style)).set_in_layout(False)


def candidates(axes: Axes, label: Label, size: np.ndarray) -> Iterator[tuple[Bbox, np.ndarray, float]]:
    """Yield where a label may stand, what it is of, and how far that is."""
    if label.x is None:
        across = axes.get_yaxis_transform()
        around = product((1.5, *DISTANCES[2:]), ALONG, (1, -1))
        tried = [(across.transform((x, label.y)), (side, up), away) for away, (x, side), up in around]
    else:  # what is beyond an axis stands at its end
        at = np.clip(axes.transData.transform((label.x, label.y)), axes.bbox.min, axes.bbox.max)
        tried = [(at, sides, distance) for distance, sides in product(DISTANCES, SIDES)]
    for at, sides, distance in tried:
        corner = at + np.multiply(sides, distance * axes.figure.dpi / 72) - (1 - np.array(sides)) / 2 * size
        yield Bbox.from_bounds(*corner, *size), at, distance


def wrap(titles: Mapping[Axes, Text]) -> float:
    """Write on several lines what is much wider than its axes; return how many pixels are lacking."""
    lacking = 0.0
    for axes, title in titles.items():
        words, before = title.get_text(), title.get_window_extent()
        if words and (share := axes.bbox.width / before.width) < 0.85:
            title.set_text(fill(words, int(len(words) * share)))
            lacking = max(lacking, title.get_window_extent().height - before.height)
    return lacking


def label_ends(axes: Axes, but: Sequence[str]) -> dict[Line2D, Legend]:
    """Write at the right of the axes what each curve is, with its dash and marker, for `spread` to move."""
    style = {"loc": "center left", "borderaxespad": 0.2, "borderpad": 0.1, "labelcolor": "linecolor"}
    labels = {}
    for line in axes.get_lines():
        if not str(line.get_label()).startswith(("_", *but)):
            words = str(line.get_label()).replace(" = ", "\u00a0=\u00a0")  # on one line
            words = fill(words, WIDE, break_long_words=False)
            at = {"bbox_to_anchor": (1, 0.5), "bbox_transform": axes.transAxes}
            labels[line] = axes.add_artist(Legend(axes, [line], [words], **at, **style))
            labels[line].set_clip_on(False)  # so that there is room for it beside the axes
    return labels


def spread_labels(axes: Axes, labels: Mapping[Line2D, Legend]) -> float:
    """Put labels to the ends of their curves, without overlap; return how many pixels are lacking."""
    ends = [axes.transData.transform(line.get_path().vertices)[-1, 1] - axes.bbox.y0 for line in labels]
    sizes = [label.get_window_extent().height for label in labels.values()]
    there = as_declared(np.nan_to_num(ends), sizes)  # a run may have ended in no number
    middles = separate(there, sizes, axes.bbox.height)
    for label, middle in zip(labels.values(), middles, strict=True):
        label.set_bbox_to_anchor((1, middle / axes.bbox.height), axes.transAxes)
    return max(0.0, sum(sizes) - axes.bbox.height)


def as_declared(ends: np.ndarray, sizes: Sequence[float]) -> np.ndarray:
    """Return the ends of curves, exchanged where labels could not tell them apart: the first is the highest.

    That is where each is nearer to the next than half a label.
    """
    exchanged, order = ends.copy(), np.argsort(ends, kind="stable")
    nearer = np.diff(ends[order]) >= np.array(sizes)[order][1:] / 2
    for group in np.split(order, np.flatnonzero(nearer) + 1):
        exchanged[np.sort(group)] = np.sort(ends[group])[::-1]
    return exchanged


def separate(middles: Sequence[float] | np.ndarray, sizes: Sequence[float], top: float) -> np.ndarray:
    """Return the middles of labels that do not overlap, between 0 and `top`, in the order given."""
    moved, order = np.array(middles, dtype=float), np.argsort(middles, kind="stable")
    floor, ceiling = 0.0, top
    for label in order:
        moved[label] = max(moved[label], floor + sizes[label] / 2)
        floor = moved[label] + sizes[label] / 2
    for label in order[::-1]:
        moved[label] = min(moved[label], ceiling - sizes[label] / 2)
        ceiling = moved[label] - sizes[label] / 2
    return moved


def points(axes: Axes) -> list[Bbox]:
    """Boxes of the points that stand by themselves: published, read off, measured."""
    boxes = []
    for line in axes.get_lines():
        if line.get_linestyle() == "None":
            half = (line.get_markersize() + line.get_markeredgewidth()) / 2 * axes.figure.dpi / 72
            centres = line.get_transform().transform(line.get_xydata())
            boxes += [Bbox([at - half, at + half]) for at in centres if axes.bbox.contains(*at)]
    return boxes
