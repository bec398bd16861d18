"""What stands beside a figure, in the page and in a file of its own: a figure is a picture."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from fedpriv.paper.figures import AxesPair, DrawnRun, FigureSpec
from fedpriv.paper.tables import full_title
from fedpriv.report.notes import accountings, footnotes, meaning_text, preset_notes
from fedpriv.report.reading import ledger_rows, meaning
from fedpriv.report.render import escape_markdown
from fedpriv.report.results import Results


def content(results: Results, declared: FigureSpec, caption: str) -> dict[str, Any]:
    """Texts beside the picture, as the page reads them, and the notes, a sentence each."""
    panels = [
        ": ".join(filter(None, (part.title, ", ".join(dict.fromkeys(curve.label for curve in part.curves)))))
        for part in declared.parts()
    ]
    alt = f"{declared.title}. {'; '.join(filter(None, panels))}".strip()
    parts, used = declared.parts(), results.of(*declared.runs())
    curves = [curve for part in parts for curve in part.read]
    drawn = pd.concat([curve_rows(results, curve) for curve in curves])
    # The panels, and the lines in the others, that could not be drawn.
    missing, uncounted = [], []
    for part in parts:
        before = f"{part.title}: " if part.title else ""
        absent = [curve for curve in part.curves if not results.has(curve.run)]
        nothing = part.title and len(absent) == len(part.curves)
        missing += [part.title] if nothing else [f"{before}{curve.label}" for curve in absent]
        for curve in part.curves:
            if curve.selector and curve not in absent and curve_rows(results, curve).empty:
                uncounted.append(f"{before}{curve.label} ({curve.selector})")
    # What every ε that is drawn means, and what the runs rest on.
    notes = [
        *meanings(results, parts),
        *accountings(curve.selector for curve in curves if curve.selector),
        *footnotes(replace(used, epsilons=drawn), intervals="±" in caption),  # a band is none
        *preset_notes(used.runs, missing),
    ]
    if uncounted:
        notes.append(f"Not in the ledger: {'; '.join(uncounted)}.")
    texts = {"title": full_title(declared), "place": declared.place, "caption": caption, "alt": alt}
    return texts | {"notes": notes}


def figure_markdown(content: Mapping[str, Any], name: str) -> str:
    """Return the picture `name`.png with its title, its caption, its place in the paper and its notes."""
    place = escape_markdown(f"Place: {content['place']}." if content["place"] else "")
    items = "\n".join(f"- {escape_markdown(note)}" for note in content["notes"])
    title, alt, caption = (escape_markdown(content[key]) for key in ("title", "alt", "caption"))
    blocks = f"# {title}", f"![{alt}]({name}.png)", caption, place, items
    return "\n\n".join(filter(None, blocks)) + "\n"


def curve_rows(results: Results, curve: DrawnRun) -> pd.DataFrame:
    """Return the rows that hold the ε of a curve, if it is of one."""
    return ledger_rows(results, curve.run, curve.selector) if curve.selector else results.epsilons.iloc[:0]


def meanings(results: Results, parts: Iterable[AxesPair]) -> list[str]:
    """Say for every ε that is drawn whom it protects, at which δ, and how it was counted."""
    sentences: dict[str, list[str]] = {}
    for part in parts:
        labels: dict[str, list[str]] = {}
        for curve in part.read:
            if means := meaning(curve_rows(results, curve), "delta"):
                own_words = curve.counted.accountant in curve.label.split()
                label = curve.label if own_words else f"{curve.label} ({curve.selector})"
                labels.setdefault(meaning_text(means), []).append(label)
        for words, some in labels.items():
            sentences.setdefault(f"{'; '.join(some)}: {words}.", []).append(part.title)
    return [": ".join(filter(None, ("; ".join(titles), sentence))) for sentence, titles in sentences.items()]
