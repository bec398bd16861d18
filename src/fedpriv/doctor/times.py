"""How long presets train, by what the stored runs took; nothing is measured."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from fedpriv.config.plan import Plan, load_preset
from fedpriv.config.sizes import INDEX, Sizes, read
from fedpriv.doctor.finding import Finding
from fedpriv.errors import BadInput
from fedpriv.machine.environment import cores
from fedpriv.paper.read import read_yaml
from fedpriv.progress import counted, duration

KeptOf = Callable[[Plan], Collection[str]]  # the identities of what is kept of a preset


def presets(path: Path) -> list[Path]:
    """Return the preset `path`, or those in that folder; BadInput if there is none."""
    if path.is_file():
        return [path]
    found = [file for file in sorted(path.glob("*.yaml")) if "preset" in read_yaml(file)]
    if not found:
        raise BadInput(f"{path}: found no preset, allowed: one, or a folder with some, as fedpriv's config")
    return found


def findings(paths: Sequence[Path], kept: KeptOf, index: Path = INDEX) -> list[Finding]:
    """Return a line for every preset, by the `index` of the stored runs."""
    took, found = read(index), list[Finding]()
    for path in counted("how long presets train", paths, "preset"):
        plan = load_preset(path)
        found.append(finding(Sizes(plan, took), kept(plan)))
    return found


def finding(sizes: Sizes, kept: Collection[str]) -> Finding:
    """Say how long one preset trains, by paper, where a GPU would pay, and without what is kept of it."""
    plan, spent, seen = sizes.plan, dict[str, float](), set[str]()
    pays, left, unknown = 0.0, 0.0, 0
    for paper, runs in plan.runs.items():
        for name in runs:
            seeds = set(plan.identities(paper, name).values()) - seen
            seconds = sizes.seconds(paper, name) * sizes.threads
            spent[paper] = spent.get(paper, 0.0) + len(seeds) * seconds
            pays += len(seeds) * seconds * sizes.wants_gpu(paper, name)
            left += len(seeds.difference(kept)) * seconds
            unknown += len(seeds) * (sizes.known(paper, name) is None)
            seen |= seeds
    total, here = sum(spent.values()), cores()
    papers = ", ".join(f"{paper} {duration(took)}" for paper, took in spent.items())
    said = [
        f"{duration(total)} of one core, {duration(total / here)} on these {here}: {len(seen)} trainings"
        + f" ({papers})" * (len(spent) > 1)
    ]
    if pays:
        said.append(f"a GPU pays for {duration(pays)} of it")
    if unknown:
        said.append(f"{unknown} are guessed, of networks that nobody has stored")
    if taken := len(seen.intersection(kept)):
        said.append(f"{duration(left)} without the {taken} that are stored")
    return Finding(f"time {plan.preset.preset}", "ok", "; ".join(said))
