"""Where words stand in a figure: not on each other, on no point, and on a curve only where they must."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox

WIDE = 18  # letters of a line of a label at the end of a curve
SIDES = ((1, -1), (1, 1), (-1, -1), (-1, 1), (0, 1), (0, -1), (1, 0), (-1, 0))
DISTANCES = (4.0, 8.0, 13.0, 19.0, 26.0, 34.0)  # points, from a label to what it is of
LED = 12.0  # from here on a line leads there
ALONG = ((0.98, -1), (0.02, 1), (0.5, 0), (0.75, 0), (0.25, 0))  # places along a line across, and their sides
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

        def cost(of: tuple[Bbox, np.ndarray, float]) -> float:
            box, _, distance = of
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
        places = product((1.5, *DISTANCES[2:]), ALONG, (1, -1))
        tried = [(across.transform((x, label.y)), (side, up), away) for away, (x, side), up in places]
    else:  # what is beyond an axis is said at its end
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
            labels[line].set_clip_on(False)  # so that there is place for it beside the axes
    return labels


def spread_labels(axes: Axes, labels: Mapping[Line2D, Legend]) -> float:
    """Put labels to the ends of their curves, without overlap; return how many pixels are lacking."""
    ends = [axes.transData.transform(line.get_path().vertices)[-1, 1] - axes.bbox.y0 for line in labels]
    sizes = [label.get_window_extent().height for label in labels.values()]
    middles = separate(np.nan_to_num(ends), sizes, axes.bbox.height)  # a run may have ended in no number
    for label, middle in zip(labels.values(), middles, strict=True):
        label.set_bbox_to_anchor((1, middle / axes.bbox.height), axes.transAxes)
    return max(0.0, sum(sizes) - axes.bbox.height)


def separate(middles: Sequence[float] | np.ndarray, sizes: Sequence[float], top: float) -> np.ndarray:
    """Return the middles of labels that do not overlap, between 0 and `top`, in the order given."""
    moved, order = np.array(middles, dtype=float), np.argsort(middles, kind="stable")
    floor, ceiling = 0.0, top
    for one in order:
        moved[one] = max(moved[one], floor + sizes[one] / 2)
        floor = moved[one] + sizes[one] / 2
    for one in order[::-1]:
        moved[one] = min(moved[one], ceiling - sizes[one] / 2)
        ceiling = moved[one] - sizes[one] / 2
    return moved


def points(axes: Axes) -> list[Bbox]:
    """Boxes of the points that stand by themselves: published, read off, measured."""
    found = []
    for line in axes.get_lines():
        if line.get_linestyle() == "None":
            half = (line.get_markersize() + line.get_markeredgewidth()) / 2 * axes.figure.dpi / 72
            places = line.get_transform().transform(line.get_xydata())
            found += [Bbox([place - half, place + half]) for place in places if axes.bbox.contains(*place)]
    return found
