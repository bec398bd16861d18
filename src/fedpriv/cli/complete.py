"""What a shell completes: names read off files and folders, so that nothing heavy is imported.

Each function is told the words before, and what has been typed of the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
    from fedpriv.paper.paper import homes, load_runs

    folders = homes(CONFIGS / "papers")
    names = [ctx.params["paper"]] if ctx.params.get("paper") else list(folders)
    return beginning(incomplete, (run for name in names for run in load_runs(name, folders[name])[1]))


def results(incomplete: str) -> list[str]:
    """Return papers with reference results, and these by preset; else the shell completes a path."""
    there = sorted(path.parent for path in REFERENCE.glob("*/*/tables"))
    by_preset = ["/".join(path.parts[-2:]) for path in there]
    return beginning(incomplete, [path.name for path in there] * ("/" not in incomplete) + by_preset)


def shown(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return what `show` takes next: a result, then a table or figure, a row and a column of it."""
    words = list(ctx.params.get("words") or [])
    if not words:
        return results(incomplete) + presets(incomplete) * bool(incomplete)
    if words[0].endswith(".yaml"):
        if len(words) == 1:
            return papers(incomplete)
        ctx.params["paper"] = words[1]
        return runs(ctx, incomplete) if len(words) == 2 else []
    return beginning(incomplete, parts(words))


def parts(words: list[str]) -> Iterator[str]:
    """Yield the tables and figures of a result, or the rows of a table, or the columns of a row."""
    name, *places = words
    folders = [
        REFERENCE / name,
        *sorted(REFERENCE.glob(f"*/{name}"), key=lambda path: "paper" not in path.parts),
    ]
    folder = next((path for path in folders if (path / "tables").is_dir()), None)
    if not folder:
        return
    if not places:
        yield from sorted(path.stem for path in folder.glob("[tf]*/*.json"))
        return
    import csv

    with (folder / f"tables/{places[0]}.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            if len(places) == 1:
                yield line["row"]
            elif line["row"] == places[1]:
                yield line["column"]


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
