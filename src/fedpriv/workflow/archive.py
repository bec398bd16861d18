"""The stored runs of the reference: which there are, taken where they are, added and never changed."""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from fedpriv.account.check import check_distances, checked_trace
from fedpriv.config.plan import Plan, load_preset
from fedpriv.config.run import Run
from fedpriv.config.sizes import INDEX_COLUMNS, WHICH, network, work
from fedpriv.errors import BadInput
from fedpriv.progress import count_each
from fedpriv.report.texts import escape_csv
from fedpriv.store import rundir
from fedpriv.store.files import remove_torn, writing
from fedpriv.store.rundir import RunDir, Stored, same_run
from fedpriv.store.summary import RUNS, is_uncommitted, stored_files, stored_path

FILE_KEYS = ("seal", "seals", "stored")  # keys of a summary


class Added(NamedTuple):
    """What became of finished runs: directories of those added, of those there before, why not others."""

    added: list[str]
    there: list[str]
    refused: list[str]  # a line each


def add(results: Path, config: Path, reference: Path, dirty: bool = False) -> Added:
    """Store every finished run of a preset's results below `reference`.

    A run that is damaged or foreign, or another result than the one stored under its identity, is refused,
    and so is a new one of an uncommitted tree, unless `dirty` ones are allowed; the others are stored. What
    is stored already, by whichever preset, changes no byte.
    """
    plan = load_preset(config)
    if not results.is_dir():
        raise BadInput(f"There are no results in '{results}'.")
    outcome = Added([], [], [])
    for path in count_each("storing runs", sorted(results.glob("*/runs/*/seed*/summary.json")), "run"):
        directory = path.parent
        try:
            is_new = add_one(directory, planned_run(plan, directory, config), reference, dirty)
        except BadInput as error:
            outcome.refused.append(str(error))
        else:
            (outcome.added if is_new else outcome.there).append(str(directory))
    write_index(reference)
    return outcome


def add_one(directory: Path, stored: Stored, reference: Path, dirty: bool = False) -> bool:
    """Store a run unless it is; return whether it was not. BadInput is one that `add` refuses."""
    path = stored_path(reference, *(stored.summary[key] for key in ("paper", "run", "seed", "identity")))
    if not path.exists():
        code = stored.summary["environment"].get("code", "")
        if is_uncommitted(code) and not dirty:
            raise BadInput(
                f"{directory} is of an uncommitted tree ({code}). Commit and train again, or --dirty."
            )
        remove_torn(path)
        rundir.write_stored(path, stored)
        return True
    if not same_run(stored, stored_form(RunDir(path))):
        raise BadInput(
            f"{directory}: found another result than the one stored as {path.name}, "
            "allowed: the same bits, but for what was measured"
        )
    return False


def planned_run(plan: Plan, directory: Path, config: Path) -> Stored:
    """Return a finished run; BadInput if it is not one of the plan."""
    stored = finished_run(directory)
    paper, run, seed = directory.parents[2].name, directory.parent.name, directory.name.removeprefix("seed")
    labels = {"preset": plan.preset.preset, "paper": paper, "run": run, "seed": seed}
    for key, allowed in labels.items():
        if str(stored.summary.get(key)) != allowed:
            raise BadInput(f"{directory}: {key}: found {stored.summary.get(key)}, allowed: {allowed}")
    if run not in plan.runs.get(paper, {}) or int(seed) not in plan.seeds:
        raise BadInput(f"{directory}: found a run that {config} does not have, allowed: its runs and seeds")
    identity, planned = stored.summary.get("identity"), plan.key(paper, run, int(seed)).identity
    if identity != planned:
        raise BadInput(
            f"{directory}: found identity {identity}, allowed: {planned}, that of this run in {config} now"
        )
    return stored


def finished_run(directory: Path) -> Stored:
    """Read a finished run; BadInput names the file that is missing, damaged or not what training writes."""
    stored = stored_form(RunDir(directory))
    try:
        check_distances(stored.distances, checked_trace(stored.trace))
    except BadInput as error:
        raise BadInput(
            f"{directory}: found no finished run ({error}), allowed: what training wrote"
        ) from None
    return stored


def stored_form(run: RunDir) -> Stored:
    """Return the content of a run as it is stored: of its files themselves it says nothing."""
    facts = {key: value for key, value in run.summary.items() if key not in FILE_KEYS}
    return Stored(facts, run.trace(), run.distances())


def write_index(reference: Path) -> None:
    """Write which runs are stored, a line each, and what they took: jobs are sized by it."""
    with writing(reference / RUNS / "index.csv") as partial, partial.open("w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(INDEX_COLUMNS)
        for path in count_each("index of stored runs", stored_files(reference), "run"):
            lines.writerow([escape_csv(cell) if isinstance(cell, str) else cell for cell in line(path)])


def line(path: Path) -> Iterator[object]:
    """Yield what the index says of a stored run, in the order of its columns."""
    facts = RunDir(path).summary
    yield from (facts[key] for key in WHICH)
    config = facts["config"]
    yield from (facts["data"]["name"], config["scheme"]["name"], config["partition"]["clients"])
    yield from (facts["test_accuracy"], facts["environment"]["hardware"])
    yield from spent(facts)


def spent(facts: Mapping[str, Any]) -> tuple[str, float | str, float | str]:
    """Return of a run its network, the examples that it worked through, and its seconds on one core.

    They are empty for one on a GPU, one that diverged, and of a config that nobody can read any more.
    """
    try:
        run = Run.model_validate(facts["config"])
    except ValidationError:
        return facts["config"]["model"]["name"], "", ""
    if facts["diverged"] or facts["environment"]["device"] != "cpu":
        return network(run), "", ""
    seconds = facts["seconds"] * facts["environment"]["threads"]
    return network(run), round(work(run).passes), round(seconds, 1)
