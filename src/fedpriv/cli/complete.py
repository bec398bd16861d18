"""What a shell completes: names read off files and folders, so that nothing heavy is imported.

Each function is told the words before, and what has been typed of the next one.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from fedpriv.cli.options import CONFIGS, REFERENCE


def names_with_prefix(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin so, each once."""
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


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


def folders() -> dict[str, Path]:
    """Return the folders of reference results, by what a person calls them: PAPER, or PRESET/PAPER."""
    there = sorted(path.parent for path in REFERENCE.glob("*/*/tables"))
    return {path.name: path for path in there} | {"/".join(path.parts[-2:]): path for path in there}


def results(incomplete: str) -> list[str]:
    """Return papers with reference results, and these by preset; else the shell completes a path."""
    return names_with_prefix(incomplete, folders())


def show_words(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the words of `show`: a result or a preset, then a table or figure, or a paper and a run."""
    words = list(ctx.params.get("words") or [])
    if not words:
        return results(incomplete) + presets(incomplete) * bool(incomplete)
    if words[0].endswith(".yaml"):
        ctx.params["paper"] = words[-1]
        return papers(incomplete) if len(words) == 1 else runs(ctx, incomplete)
    folder = folders().get(words[0], Path(words[0]))
    return names_with_prefix(incomplete, sorted(path.stem for path in folder.glob("[tf]*/*.json")))


def datasets(incomplete: str) -> list[str]:
    """Return the datasets."""
    from fedpriv.data import DATASETS

    return names_with_prefix(incomplete, sorted(DATASETS))
