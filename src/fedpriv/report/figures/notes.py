"""What stands beside a figure, in the page and in a file of its own: a figure is a picture."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from fedpriv.paper.figures import AxesPair, DrawnRun, FigureSpec
from fedpriv.paper.tables import full_title
from fedpriv.report.notes import accountings, footnotes, meaning_text, preset_notes
from fedpriv.report.results import Results, meaning_of
from fedpriv.report.texts import escape_markdown


def content(results: Results, declared: FigureSpec, caption: str) -> dict[str, Any]:
    """Texts beside the picture, as the page reads them, and the notes, a sentence each."""
    parts, used = declared.parts(), results.of(*declared.runs())
    curves = [curve for part in parts for curve in part.read]
    drawn = pd.concat([curve_rows(results, curve) for curve in curves])
    # What every ε that is drawn means, what the runs rest on, and what could not be drawn.
    notes = [
        *meanings(results, parts),
        *accountings(curve.selector for curve in curves if curve.selector),
        *footnotes(replace(used, epsilons=drawn), intervals="±" in caption),  # a band is none
        *preset_notes(used.runs, missing(results, parts)),
    ]
    if names := [*uncounted(results, parts)]:
        notes.append(f"Not in the ledger: {'; '.join(names)}.")
    texts = {"title": full_title(declared), "place": declared.place, "caption": caption}
    return texts | {"alt": description(declared), "notes": notes}


def description(declared: FigureSpec) -> str:
    """Return the figure in words, for whoever does not see it: its title, and the curves of every panel."""
    panels = [
        ": ".join(filter(None, (part.title, ", ".join(dict.fromkeys(curve.label for curve in part.curves)))))
        for part in declared.parts()
    ]
    return f"{declared.title}. {'; '.join(filter(None, panels))}".strip()


def missing(results: Results, parts: Iterable[AxesPair]) -> Iterator[str]:
    """Yield what was not run: a panel, or those of its lines."""
    for part in parts:
        absent = [curve for curve in part.curves if not results.has(curve.run)]
        whole = part.title and len(absent) == len(part.curves)
        yield from [part.title] if whole else [f"{before(part)}{curve.label}" for curve in absent]


def uncounted(results: Results, parts: Iterable[AxesPair]) -> Iterator[str]:
    """Yield the lines of an ε that the ledger of their run has not."""
    for part in parts:
        for curve in part.curves:
            if curve.selector and results.has(curve.run) and curve_rows(results, curve).empty:
                yield f"{before(part)}{curve.label} ({curve.selector})"


def before(part: AxesPair) -> str:
    """Return what stands before the label of a line, if the panel has a title."""
    return f"{part.title}: " if part.title else ""


def figure_markdown(content: Mapping[str, Any], name: str) -> str:
    """Return the picture `name`.png with its title, its caption, its place in the paper and its notes."""
    place = escape_markdown(f"Place: {content['place']}." if content["place"] else "")
    items = "\n".join(f"- {escape_markdown(note)}" for note in content["notes"])
    title, alt, caption = (escape_markdown(content[key]) for key in ("title", "alt", "caption"))
    blocks = f"# {title}", f"![{alt}]({name}.png)", caption, place, items
    return "\n\n".join(filter(None, blocks)) + "\n"


def curve_rows(results: Results, curve: DrawnRun) -> pd.DataFrame:
    """Return the rows that hold the ε of a curve, if it is of one."""
    return results.run(curve.run).ledger(curve.selector) if curve.selector else results.epsilons.iloc[:0]


def meanings(results: Results, parts: Iterable[AxesPair]) -> list[str]:
    """Say for every ε that is drawn whom it protects, at which δ, and how it was counted."""
    sentences: dict[str, list[str]] = {}
    for part in parts:
        labels: dict[str, list[str]] = {}
        for curve in part.read:
            if means := meaning_of(curve_rows(results, curve), "delta"):
                own_words = curve.counted.accountant in curve.label.split()
                label = curve.label if own_words else f"{curve.label} ({curve.selector})"
                labels.setdefault(meaning_text(means), []).append(label)
        for words, curves in labels.items():
            sentences.setdefault(f"{'; '.join(curves)}: {words}.", []).append(part.title)
    return [": ".join(filter(None, ("; ".join(titles), sentence))) for sentence, titles in sentences.items()]
