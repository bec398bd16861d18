"""What a workflow must make again: results that say themselves that another plan or other code made them.

Snakemake sees that by what it remembers. It may have forgotten, or never have known: results that were moved.
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from fedpriv.config.finished import outdated
from fedpriv.config.plan import make_plan
from fedpriv.paper.read import read_value, read_yaml


def force_outdated(command: Sequence[str]) -> list[str]:
    """Return a command of Snakemake with `--forcerun` for what of its presets is outdated.

    Raises BadInput for a preset that cannot be.
    """
    overrides = [word.partition("=") for word in after(command, "--config")]
    asked = [word for word in command if word.startswith("results/")]
    found: set[str] = set()
    for preset in presets(command):
        config = read_yaml(preset) | {
            name: read_value(text, f"--config: {name}") for name, _, text in overrides
        }
        found |= outdated(make_plan(config, Path("config/papers"), str(preset)), asked)
    return [*command, *(["--forcerun", *sorted(found)] if found else [])]


def presets(command: Sequence[str]) -> Iterator[Path]:
    """Yield the presets that a command is given: Snakemake would read them first, and trip over some."""
    for option in ("--configfile", "--configfiles"):
        yield from map(Path, after(command, option))


def after(command: Sequence[str], option: str) -> Iterator[str]:
    """Yield what stands after an option, up to the next."""
    for place, word in enumerate(command):
        name, _, first = word.partition("=")
        if name == option:
            others = takewhile(lambda word: not word.startswith("-"), command[place + 1 :])
            yield from filter(None, (first, *others))
