"""What a shell completes: names read off files and folders, so that nothing heavy is imported.

Each function has the words before, and what has been typed of the next.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from fedpriv.cli.options import CONFIGS, REFERENCE
from fedpriv.cli.results import elements, named_folders

KINDS = ("papers", "runs", "tables", "datasets", "schemes")  # that `list` knows


def names_with_prefix(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin so, each once."""
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


def kinds(incomplete: str) -> list[str]:
    """Return what can be listed."""
    return names_with_prefix(incomplete, KINDS)


def presets(incomplete: str) -> list[str]:
    """Return the presets that are declared."""
    return names_with_prefix(incomplete, sorted(map(str, CONFIGS.glob("*.yaml"))))


def papers(incomplete: str) -> list[str]:
    """Return the papers that are declared."""
    from fedpriv.paper.paper import homes

    return names_with_prefix(incomplete, homes(CONFIGS / "papers"))


def runs(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the runs of the paper that is named before, or of all papers."""
    from fedpriv.paper.paper import homes, load_paper

    folders = homes(CONFIGS / "papers")
    names = [ctx.params["paper"]] if ctx.params.get("paper") else list(folders)
    runs = (run for name in names for run in load_paper(name, folders[name]).runs)
    return names_with_prefix(incomplete, runs)


def results(incomplete: str) -> list[str]:
    """Return papers with reference results, and these by preset; else the shell completes a path."""
    return names_with_prefix(incomplete, named_folders(REFERENCE))


def show_words(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the words of `show`: a result or a preset, then a table or figure, or a paper and a run."""
    words = list(ctx.params.get("words") or [])
    if not words:
        return results(incomplete) + presets(incomplete) * bool(incomplete)
    if words[0].endswith(".yaml"):
        ctx.params["paper"] = words[-1]
        return papers(incomplete) if len(words) == 1 else runs(ctx, incomplete)
    folder = named_folders(REFERENCE).get(words[0], Path(words[0]))
    return names_with_prefix(incomplete, (path.stem for path in elements(folder)))


def datasets(incomplete: str) -> list[str]:
    """Return the datasets."""
    from fedpriv.data import DATASETS

    return names_with_prefix(incomplete, sorted(DATASETS))
