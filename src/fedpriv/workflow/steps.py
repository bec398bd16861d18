"""The steps of the workflow: words name what a step is about, its plan says all the rest.

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
from fedpriv.config.files import (
    audited_runs,
    collected_files,
    cuts,
    figure_names,
    findings,
    inputs,
    judged_claims,
    partition_files,
    targets,
)
from fedpriv.config.plan import Plan, RunKey, arrays_id, make_plan
from fedpriv.errors import BadInput, is_full, require_known
from fedpriv.paper.claims import Claim
from fedpriv.paper.paper import merge, read_yaml
from fedpriv.paper.tables import Rendered
from fedpriv.progress import announce_each, count_each, say
from fedpriv.store.files import require_room
from fedpriv.store.summary import SUMMARY
from fedpriv.workflow.rules import plan_digest

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
    """Look at every photograph of `find`, on so many threads, and list them."""
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
    """Attack the runs of a paper in `results`, where something that is shown reads the findings.

    Another run or δ than the plan's is BadInput.
    """
    from fedpriv.audit.finished import audit_runs

    out = paper_folder(plan, paper, results) / "findings.parquet"
    runs = planned_runs(plan, audited_runs(plan, paper), results)
    audit_runs(runs, out, plan_digest(plan, "audit", paper))


def collect(plan: Plan, paper: str, *, results: Path = RESULTS) -> None:
    """Put all runs of a paper in `results` into its tables; another run or δ than the plan's is BadInput."""
    from fedpriv.report.collect import collect

    folder = paper_folder(plan, paper, results)
    if not (runs := planned_runs(plan, plan.keys(paper), results)):
        raise BadInput(f"{folder}: found no finished run that the preset has, allowed: at least one")
    collect(runs, folder, cuts(plan, paper), plan_digest(plan, "collect", paper))


def planned_runs(plan: Plan, runs: Iterable[RunKey], results: Path) -> list[Path]:
    """Return the directories of those runs that are finished; BadInput where one is not the plan's."""
    planned = {below(results, key.directory(plan.preset.preset)): key for key in runs}
    finished = {directory: key for directory, key in planned.items() if (directory / SUMMARY).exists()}
    for directory, key in finished.items():
        check_plan(directory, key, plan.planned[key.paper][key.run].substitute_for)
    return sorted(finished)


def check_plan(directory: Path, key: RunKey, substitute_for: str | None) -> None:
    """Raise BadInput where the run of a directory, the note on its data, or its ledger is not the plan's."""
    from fedpriv.store.parquet import made_with
    from fedpriv.store.summary import load_summary

    path = directory / SUMMARY
    facts = load_summary(path)
    if (identity := facts.get("identity")) != key.identity:
        raise BadInput(
            f"{path}: found {f'run {identity}' if identity else 'no finished run'}, allowed: {key.identity}, "
            "that of the plan; delete the folder to train it"
        )
    if (stated := facts.get("data", {}).get("substitute_for")) != substitute_for:
        raise BadInput(
            f"{path}: found data in place of {stated or 'none'}, allowed: in place of "
            f"{substitute_for or 'none'}, as the plan has it; delete it and run the workflow again"
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

    folder = paper_folder(plan, paper, results)
    declared = plan.papers[paper]
    check_made(plan, paper, results, [*declared.tables.values(), *judged_claims(plan, paper)])
    write_tables(folder, declared, judged=not plan.preset.show)


def figures(plan: Plan, paper: str, *, results: Path = RESULTS) -> None:
    """Draw the figures of a paper."""
    from fedpriv.report.paper import write_figures

    folder = paper_folder(plan, paper, results)
    declared = figure_names(plan, paper)
    check_made(plan, paper, results, declared.values())
    write_figures(folder, declared)


def check_made(plan: Plan, paper: str, results: Path, elements: Iterable[Rendered | Claim] = ()) -> None:
    """Raise BadInput where runs were collected, or attacked for these elements, for another plan."""
    from fedpriv.store.parquet import made_with

    made = {"collect": collected_files(plan, paper), "audit": findings(plan, paper, elements)}
    for step, files in made.items():
        for path in (below(results, file) for file in files):
            if path.exists() and made_with(path) != plan_digest(plan, step, paper):
                raise BadInput(
                    f"{path}: found what another config or another version made, allowed: what the plan has "
                    f"now; make it again: fedpriv step {step} PRESET {paper}"
                )


def report(plan: Plan, *, results: Path = RESULTS, comparison: Path | None = REFERENCE / "paper") -> None:
    """Put all that was built of a preset on one page, beside the `comparison`."""
    from fedpriv.report import page

    for paper in plan.papers:
        check_made(plan, paper, results)
    out = results / plan.preset.preset / "report.html"
    page.write_report(plan, out, comparison, plan_digest(plan, "report"))


def outcome(plan: Plan, *, results: Path = RESULTS) -> None:
    """Say what came out of a preset, and where: the files of what alone is shown, else the report.

    BadInput where a file of it is missing, or was made of other runs, or settings, than all of the plan's.
    """
    files = [below(results, file) for file in targets(plan)]
    check_ended(plan, files, results)
    if plan.preset.show:
        shown = [file for file in files if file.suffix not in (".parquet", ".json")]
        say("Built:", *(f"    {file}" for file in shown))
        return
    from fedpriv.report.compared import accuracies_text
    from fedpriv.report.page import plan_mark

    report = results / plan.preset.preset / "report.html"
    if plan_mark(report) != plan_digest(plan, "report"):
        raise BadInput(
            f"{report}: found the report of another config or another version, allowed: that of the plan; "
            f"{END_FIRST}"
        )
    say(
        accuracies_text(plan.papers, report.parent),
        f"The report: {report}",
        f"Open it: {report.resolve().as_uri()}",
    )


END_FIRST = "let its workflow end first"


def check_ended(plan: Plan, files: Sequence[Path], results: Path) -> None:
    """Raise BadInput where a file is missing, or not all runs of the plan were collected."""
    from fedpriv.store.parquet import length

    if missing := [str(file) for file in files if not file.is_file()]:
        more = f" (and {len(missing) - 1} more)" if missing[1:] else ""
        raise BadInput(f"{missing[0]}: found no such file{more}, allowed: what the preset makes; {END_FIRST}")
    for paper in plan.papers:
        check_made(plan, paper, results)
        path, wanted = below(results, collected_files(plan, paper)[0]), len(plan.keys(paper))
        if (runs := length(path)) != wanted:
            raise BadInput(f"{path}: found {runs} runs, allowed: {wanted}, all of the plan; {END_FIRST}")


PAPER_STEPS = {step.__name__: step for step in (audit, collect, tables, figures)}
OTHERS = (fetch, find, look, prepare, partition, train, account, take, report, outcome)
STEPS: Mapping[str, Callable[..., None]] = PAPER_STEPS | {step.__name__: step for step in OTHERS}


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
    folders = {"root": root, "results": root / RESULTS}
    taken = {name: folder for name, folder in folders.items() if name in call.parameters}
    STEPS[step](make_plan(merge(read_yaml(config), settings), PAPERS, str(config)), *words, **taken)


def paper_folder(plan: Plan, paper: str, results: Path) -> Path:
    """Return the folder of a paper in `results`."""
    require_known("paper", [paper], plan.papers)
    return results / plan.preset.preset / paper


def below(results: Path, file: str) -> Path:
    """Return the path of a file of the workflow where these are its results."""
    return results / Path(file).relative_to(RESULTS)


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
    """Do the job of every run in its directory; what failed is raised after all of them."""
    failed: dict[str, Exception] = {}
    planned = keys(plan, paper, runs)
    for key in announce_each(f"{doing} {paper}", planned, "run", lambda key: f"{key.run} seed {key.seed}"):
        what = f"{paper} {key.run} seed {key.seed}"
        try:
            job(key, root / key.directory(plan.preset.preset))
        except Exception as error:
            if is_full(error):  # nor is there room for the others
                raise
            failed[what] = error
    if not failed:
        return
    if all(isinstance(error, BadInput) for error in failed.values()):
        lines = ((what, line) for what, error in failed.items() for line in str(error).splitlines())
        raise BadInput(*(f"{doing}: failed: {what}: {line}" for what, line in lines))
    raise ExceptionGroup(f"{doing}: failed: {'; '.join(failed)}", list(failed.values()))
