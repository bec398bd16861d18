"""The steps of the workflow, each told by name what it is about; its plan says all the rest.

Snakemake's rules call them as `fedpriv step`, `rerender` those after training for stored runs. What is made
lies in `resources` and `results` of a root: the current folder, or the local copies of a storage plugin. What
a step needs is imported in it: only `train` and the features of `prepare` import torch.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from fedpriv import data
from fedpriv.config.jobs import (
    audited_runs,
    cuts,
    figure_names,
    inputs,
    partition_files,
    report_files,
)
from fedpriv.config.plan import Plan, RunKey, arrays_id, make_plan
from fedpriv.errors import BadInput, require_known
from fedpriv.paper.paper import merge, read_yaml
from fedpriv.progress import announce_each, count_each, say
from fedpriv.store.files import NoRoom, require_room
from fedpriv.store.summary import SUMMARY, glance_at

PAPERS = Path("config/papers")
HERE = Path()
RESOURCES, RESULTS = Path("resources"), Path("results")  # of a root
REFERENCE = RESULTS / "reference"  # comes with the code, whatever the root


def fetch(plan: Plan, dataset: str, file: str, *, root: Path = HERE) -> None:
    """Fetch one raw file of a dataset; FEDPRIV_MIRROR and the preset's mirrors come before public sources."""
    require_known("dataset", [dataset], data.image_datasets())
    known, mirrors = data.image_datasets()[dataset], data.source.mirrors(plan.preset.mirrors)
    files = {raw.name: raw for raw in known.files}
    require_known("file", [file], files)
    data.source.fetch_file(known, files[file], root / RESOURCES / dataset / "raw", mirrors)


def find(plan: Plan, dataset: str, *, root: Path = HERE) -> None:
    """Find the photographs of a dataset, in mirrors or by downloading them, and write where they are."""
    require_known("dataset", [dataset], data.photograph_datasets())
    data.find_photographs(dataset, root / RESOURCES, data.source.mirrors(plan.preset.mirrors))


def look(plan: Plan, dataset: str, threads: str, *, root: Path = HERE) -> None:
    """Look at every photograph that was found, on so many threads, and list them."""
    require_known("dataset", [dataset], data.photograph_datasets())
    mirrors = data.source.mirrors(plan.preset.mirrors)
    data.list_photographs(dataset, root / RESOURCES, int(threads), mirrors)


def prepare(plan: Plan, name: str, *, root: Path = HERE) -> None:
    """Make the arrays of that name that are not there yet: of runs, or those that features are made of."""
    from fedpriv.train import inputs

    resources, mirrors = root / RESOURCES, data.source.mirrors(plan.preset.mirrors)
    runs = {arrays_id(run): run for run in plan.all_runs()}
    if name in runs:
        inputs.prepare(runs[name], resources, mirrors, plan.preset.speed)
    else:
        data.prepare_arrays(plan.own_data().get(name, name), resources, mirrors)


def partition(plan: Plan, seed: str, *ids: str, root: Path = HERE) -> None:
    """Deal the training examples to the clients, at a seed, for each of these partitions."""
    from fedpriv.train.inputs import write_partition

    require_known("partition", ids, plan.partitions())
    for name, out in count_each(
        "dealing", list(zip(ids, partition_files(plan, int(seed), *ids), strict=True)), "partition"
    ):
        run = plan.partitions()[name]
        write_partition(run, int(seed), root / RESOURCES / f"{arrays_id(run)}.npz", root / out)


def train(plan: Plan, paper: str, *runs: str, root: Path = HERE) -> None:
    """Train runs of a paper, each as RUN/SEED, one after the other, or go on with them.

    What they go on from is in the run directories, or in those of the root that FEDPRIV_RESUME names.
    """
    from fedpriv.store.rundir import RESUME
    from fedpriv.train.loop import train

    kept = Path(os.environ.get("FEDPRIV_RESUME") or root)

    def train_run(key: RunKey, out: Path) -> None:
        require_room(out)
        train(
            key.config,
            key.run,
            key.seed,
            *(root / file for file in inputs(plan, [key])),
            out=out,
            speed=plan.preset.speed,
            labels=plan.labels(paper, key.run),
            resume=kept / out.relative_to(root) / RESUME,
        )

    each_run("training", plan, paper, runs, root, train_run)


def account(plan: Plan, paper: str, *runs: str, root: Path = HERE) -> None:
    """Write the ledger of each run directory, counted as its config says."""
    from fedpriv.account.runs import account

    each_run("accounting", plan, paper, runs, root, lambda key, out: account(out, key.config.account))


def take(plan: Plan, paper: str, *runs: str, root: Path = HERE) -> None:
    """Account stored runs where they are: their directories get a ledger and a summary that says where."""
    from fedpriv.store.rundir import take_stored

    for key in count_each(f"{paper}: taking", keys(plan, paper, runs), "run"):
        out, path = root / key.directory(plan.preset.preset), key.stored(REFERENCE)
        if not path.exists():
            raise BadInput(f"{out}: found nothing stored in {REFERENCE}, allowed: a stored run")
        take_stored(path, out, plan.labels(paper, key.run))
    account(plan, paper, *runs, root=root)


def audit(plan: Plan, paper: str, *, results: Path = RESULTS) -> None:
    """Attack the runs of a paper that are in `results` where something that is shown reads what is found."""
    from fedpriv.audit.finished import audit_runs

    out = paper_folder(plan, paper, results) / "findings.parquet"
    audit_runs(sorted(finished_runs(plan, audited_runs(plan, paper), results)), out)


def collect(plan: Plan, paper: str, *, results: Path = RESULTS) -> None:
    """Put all runs of a paper in `results` into its tables; another run or δ than the plan's is BadInput."""
    from fedpriv.report.results import collect

    runs = finished_runs(plan, plan.keys(paper), results)
    for directory, key in runs.items():
        check_plan(directory, key)
    collect(sorted(runs), paper_folder(plan, paper, results), cuts(plan, paper))


def check_plan(directory: Path, key: RunKey) -> None:
    """Raise BadInput where the run of a directory, or its ledger, is not that of the plan."""
    from fedpriv.store.parquet import made_with

    if (identity := glance_at(directory)[0]) != key.identity:
        raise BadInput(
            f"{directory / SUMMARY}: found {f'run {identity}' if identity else 'no finished run'}, allowed: "
            f"{key.identity}, that of the plan; delete the folder to train it"
        )
    ledger, deltas = directory / "ledger.parquet", key.config.account
    if ledger.exists() and made_with(ledger) != deltas.made_with:
        raise BadInput(
            f"{ledger}: found a ledger at another δ, or of another accountant, allowed: at δ "
            f"{deltas.delta:g} of clients and {deltas.instance_delta:g} of examples, by the accounting that "
            "is here; delete it and account the run again"
        )


def tables(plan: Plan, paper: str, *, results: Path = RESULTS) -> None:
    """Render the tables of a paper and judge its claims."""
    from fedpriv.report.paper import write_tables

    write_tables(paper_folder(plan, paper, results), plan.papers[paper], judged=not plan.preset.show)


def figures(plan: Plan, paper: str, *, results: Path = RESULTS) -> None:
    """Draw the figures of a paper."""
    from fedpriv.report.paper import write_figures

    write_figures(paper_folder(plan, paper, results), figure_names(plan, paper))


def report(plan: Plan, *, results: Path = RESULTS, comparison: Path | None = REFERENCE / "paper") -> None:
    """Put all that was built of a preset on one page, beside the `comparison`."""
    from fedpriv.report import page

    page.write_report(plan, results / plan.preset.preset / "report.html", comparison)


def outcome(plan: Plan, *, results: Path = RESULTS) -> None:
    """Say what came out of a preset, and where: the files of what alone is shown, else the report."""
    if plan.preset.show:
        say(
            "Built:",
            *(f"    {file}" for file in report_files(plan) if not file.endswith((".parquet", ".json"))),
        )
        return
    from fedpriv.report.claims import accuracies_text

    report = results / plan.preset.preset / "report.html"
    say(
        accuracies_text(plan.papers, report.parent),
        f"The report: {report}",
        f"Open it: {report.resolve().as_uri()}",
    )


OF_PAPER = {step.__name__: step for step in (audit, collect, tables, figures)}
OTHERS = (fetch, find, look, prepare, partition, train, account, take, report, outcome)
STEPS: Mapping[str, Callable[..., None]] = OF_PAPER | {step.__name__: step for step in OTHERS}


def do_step(
    step: str, config: Path, words: Sequence[str], settings: Mapping[str, Any], root: Path = HERE
) -> None:
    """Do a step for a preset, over which `settings` are laid, as Snakemake lays them, below `root`."""
    require_known("step", [step], STEPS)
    call = signature(STEPS[step])
    names = [param.name for param in call.parameters.values() if param.kind is not param.KEYWORD_ONLY][1:]
    try:
        call.bind(None, *words)
    except TypeError as error:
        raise BadInput(f"step {step}: {error}, allowed: {' '.join(names).upper()}") from None
    places = {"root": root, "results": root / RESULTS}
    where = {name: place for name, place in places.items() if name in call.parameters}
    STEPS[step](make_plan(merge(read_yaml(config), settings), PAPERS, str(config)), *words, **where)


def paper_folder(plan: Plan, paper: str, results: Path) -> Path:
    """Return the folder of a paper in `results`."""
    require_known("paper", [paper], plan.papers)
    return results / plan.preset.preset / paper


def finished_runs(plan: Plan, runs: Iterable[RunKey], results: Path) -> dict[Path, RunKey]:
    """Return the finished ones of some runs, by their directories in `results`."""
    planned = {results / Path(key.directory(plan.preset.preset)).relative_to(RESULTS): key for key in runs}
    return {directory: key for directory, key in planned.items() if (directory / SUMMARY).exists()}


def keys(plan: Plan, paper: str, runs: Sequence[str]) -> list[RunKey]:
    """Return the runs that are given as RUN/SEED; BadInput for what the plan has not."""
    require_known("paper", [paper], plan.papers)
    there = {key.word: key for key in plan.keys(paper)}
    require_known("run", runs, there, f"fedpriv list runs --paper {paper}")
    return [there[word] for word in runs]


def each_run(
    doing: str,
    plan: Plan,
    paper: str,
    runs: Sequence[str],
    root: Path,
    job: Callable[[RunKey, Path], object],
) -> None:
    """Do the job of every run, told which and in which directory; what failed is raised after all of them."""
    failed: dict[str, Exception] = {}
    planned = keys(plan, paper, runs)
    for key in announce_each(f"{doing} {paper}", planned, "run", lambda key: f"{key.run} seed {key.seed}"):
        what = f"{paper} {key.run} seed {key.seed}"
        try:
            job(key, root / key.directory(plan.preset.preset))
        except NoRoom:  # nor is there any for the others
            raise
        except Exception as error:
            failed[what] = error
    if failed and all(isinstance(error, BadInput) for error in failed.values()):
        lines = ((what, line) for what, error in failed.items() for line in str(error).splitlines())
        raise BadInput(*(f"{doing}: failed: {what}: {line}" for what, line in lines))
    if failed:
        raise ExceptionGroup(f"{doing}: failed: {'; '.join(failed)}", list(failed.values()))
