"""What a shell completes: names read off files and folders, so that nothing heavy is imported.

Each function is told the words before, and what has been typed of the next one.
"""

from __future__ import annotations

from collections.abc import Iterable

import typer

from fedpriv.cli.options import CONFIGS, REFERENCE


def beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin so, each once."""
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


def presets(incomplete: str) -> list[str]:
    """Return the presets that are declared."""
    return beginning(incomplete, sorted(map(str, CONFIGS.glob("*.yaml"))))


def papers(incomplete: str) -> list[str]:
    """Return the papers that are declared."""
    from fedpriv.paper.paper import homes

    return beginning(incomplete, homes(CONFIGS / "papers"))


def runs(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the runs of the paper that is named before, or of all papers."""
    from fedpriv.paper.paper import homes, load_paper

    folders = homes(CONFIGS / "papers")
    names = [ctx.params["paper"]] if ctx.params.get("paper") else list(folders)
    return beginning(incomplete, (run for name in names for run in load_paper(name, folders[name]).runs))


def results(incomplete: str) -> list[str]:
    """Return papers with reference results, and these by preset; else the shell completes a path."""
    there = sorted(path.parent for path in REFERENCE.glob("*/*/tables"))
    by_preset = ["/".join(path.parts[-2:]) for path in there]
    return beginning(incomplete, [path.name for path in there] * ("/" not in incomplete) + by_preset)


def shown(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return what `show` takes next: a result or a preset, then a table or figure, or a paper and a run."""
    words = list(ctx.params.get("words") or [])
    if not words:
        return results(incomplete) + presets(incomplete) * bool(incomplete)
    if words[0].endswith(".yaml"):
        ctx.params["paper"] = words[-1]
        return papers(incomplete) if len(words) == 1 else runs(ctx, incomplete)
    folders = [REFERENCE / words[0], *REFERENCE.glob(f"*/{words[0]}")]
    return beginning(incomplete, sorted({one.stem for path in folders for one in path.glob("[tf]*/*.json")}))


def datasets(incomplete: str) -> list[str]:
    """Return the datasets."""
    from fedpriv.data import DATASETS

    return beginning(incomplete, sorted(DATASETS))


def accountants(incomplete: str) -> list[str]:
    """Return the accountants of plans; those of packages by their entry points, which are not loaded."""
    from fedpriv.registry import points

    return beginning(
        incomplete, ["moments", "rdp", "pld", "all", *(one.name for one in points("accountants"))]
    )
