"""Add finished runs to the archives of their papers."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from fedpriv.account.complete import complete
from fedpriv.account.trace_check import check_distances, check_trace
from fedpriv.config.plan import Plan, load_preset
from fedpriv.errors import BadInput
from fedpriv.files import npz, parquet, summary
from fedpriv.files.atomic import in_turn, remove_torn
from fedpriv.keep.archive import Kept, read, same, write
from fedpriv.keep.index import everywhere, place


class Added(NamedTuple):
    """What became of finished runs: the directories of those added, those kept before, why not the others."""

    added: list[str]
    there: list[str]
    refused: list[str]  # a line each


def add(results: Path, config: Path, reference: Path) -> Added:
    """Add every finished run of a preset's results to the archive of its paper below `reference`.

    A run that is damaged or foreign, or another result than the one kept under its identity, is refused;
    the others are added. An archive is the old one or the new one at any moment, and of several processes
    one adds while the others wait, so that nothing kept is ever lost. What is kept already, by whichever
    preset, changes no byte.
    """
    plan = load_preset(config)
    if not results.is_dir():
        raise BadInput(f"{results}: found no such folder, allowed: the results of a preset")
    outcome = Added([], [], [])
    found: dict[str, dict[str, Kept]] = {}
    for path in sorted(results.glob("*/runs/*/seed*/summary.json")):
        directory = path.parent
        try:
            paper, one = planned(plan, directory, config)
            found.setdefault(paper, {})[str(directory)] = one
        except BadInput as error:
            outcome.refused.append(str(error))
    for paper, runs in found.items():
        add_to(place(reference, plan.preset.preset, paper), runs, outcome)
    return outcome


def planned(plan: Plan, directory: Path, config: Path) -> tuple[str, Kept]:
    """Return the paper of a finished run and the run; BadInput if it is not one of the plan."""
    one = of_run(directory)
    paper = directory.parents[2].name
    seed = directory.name.removeprefix("seed")
    told = {"preset": plan.preset.preset, "paper": paper, "run": directory.parent.name, "seed": seed}
    for key, allowed in told.items():
        if str(one.summary.get(key)) != allowed:
            raise BadInput(f"{directory}: {key}: found {one.summary.get(key)}, allowed: {allowed}")
    runs = plan.runs.get(paper, {})
    if one.run not in runs or one.seed not in plan.seeds:
        raise BadInput(f"{directory}: found a run that {config} does not have, allowed: its runs and seeds")
    if one.identity != (wanted := runs[one.run].identity(one.run, one.seed)):
        raise BadInput(
            f"{directory}: found identity {one.identity}, allowed: {wanted}, that of this run in {config} now"
        )
    return paper, one


def of_run(directory: Path) -> Kept:
    """Read a finished run; BadInput names the file that is missing, damaged or not what training writes."""
    told = summary.load(directory / "summary.json")
    trace = parquet.load(directory / "trace.parquet")
    distances = npz.everything(directory / "distances.npz", "the distances that a run wrote")
    try:
        whole = complete(trace)
        check_trace(whole)
        check_distances(distances, whole)
        run, seed, identity = told["run"], told["seed"], told["identity"]
    except (BadInput, KeyError) as error:
        raise BadInput(
            f"{directory}: found no finished run ({error}), allowed: what training wrote"
        ) from None
    told = {key: value for key, value in told.items() if key not in ("seal", "kept")}
    return Kept(run, seed, identity, told, trace, distances)


def add_to(archive: Path, runs: dict[str, Kept], outcome: Added) -> None:
    """Add runs, by their directory, to one archive; say in `outcome` what became of them."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with in_turn(archive):
        remove_torn(archive)
        kept = read(archive)
        known = [*kept, *elsewhere(archive, {one.identity for one in runs.values()})]
        new = [one for directory, one in runs.items() if is_new(directory, one, known, outcome)]
        if new:
            write(archive, [*kept, *new])


def elsewhere(archive: Path, wanted: Collection[str]) -> Iterator[Kept]:
    """Yield those of some runs that other presets keep of the same paper."""
    paper = archive.parent
    for other in everywhere(paper.parents[1], paper.name):
        if other != archive:
            yield from read(other, wanted)


def is_new(directory: str, one: Kept, kept: Sequence[Kept], outcome: Added) -> bool:
    """Return whether a run is to be added, and say in `outcome` what becomes of it."""
    before = next((other for other in kept if other.identity == one.identity), None)
    if before is None:
        outcome.added.append(directory)
    elif same(one, before):
        outcome.there.append(directory)
    else:
        outcome.refused.append(
            f"{directory}: found another result than the one kept under its identity {one.identity}, "
            "allowed: the same bits, but for what was measured"
        )
    return before is None
