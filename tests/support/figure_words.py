"""The words of a figure, and which of them hide something."""

from itertools import combinations

from matplotlib.figure import Figure
from matplotlib.text import Text

from fedpriv.report.figures.looks import points


def overlaps(figure: Figure) -> list[str]:
    """Words of a figure that stand on each other or on a point."""
    figure.draw_without_rendering()
    boxes = [(text.get_text(), text.get_window_extent().padded(-1)) for text in drawn_words(figure)]
    on_each_other = (f"{one} / {two}" for (one, a), (two, b) in combinations(boxes, 2) if a.overlaps(b))
    dots = [dot for axes in figure.axes for dot in points(axes)]
    on_points = (f"{text} / a point" for text, box in boxes if any(map(box.overlaps, dots)))
    return [*on_each_other, *on_points]


def drawn_words(figure: Figure) -> list[Text]:
    """Return the words that are drawn: of the ticks those that the axes reach."""
    beyond: set[Text] = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not low <= tick.get_loc() <= high:
                beyond |= {tick.label1, tick.label2}
    every = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [text for text in every if text not in beyond]
