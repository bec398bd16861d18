"""The steps of the workflow, each told by name what it is about; its plan says all the rest.

Snakemake's rules call them as `fedpriv step`, `rerender` those after training for stored runs. What a step
needs is imported in it: only `arrays` of features and `train` import torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from fedpriv.account.spend import Deltas
from fedpriv.config.finished import beside, check, identities, made_now, note
from fedpriv.config.names import arrays_id
from fedpriv.config.plan import Plan
from fedpriv.config.targets import Batch, contents, dealt, declared, drawn, everything, inputs
from fedpriv.data import decode, manifest, of_images, of_photographs, own, prepared, source
from fedpriv.errors import BadInput, require_known
from fedpriv.local.work import Speed
from fedpriv.progress import announce

RESOURCES, RESULTS = Path("resources"), Path("results")
REFERENCE = RESULTS / "reference"


def fetch(plan: Plan, dataset: str, file: str) -> None:
    """Fetch one raw file of a dataset; FEDPRIV_MIRROR and the preset's mirrors come before public sources."""
    require_known("dataset", [dataset], of_images())
    files = {one.name: one for one in of_images()[dataset].files}
    require_known("file", [file], files)
    mirrors = source.mirrors(plan.preset.mirrors)
    source.fetch(of_images()[dataset], files[file], RESOURCES / dataset / "raw", mirrors)


def photographs(plan: Plan, dataset: str) -> None:
    """Find a dataset's photographs, look at every one and list them."""
    require_known("dataset", [dataset], of_photographs())
    mirrors = source.mirrors(plan.preset.mirrors)
    manifest.write(of_photographs()[dataset], mirrors, prepared(dataset, RESOURCES))


def arrays(plan: Plan, name: str, threads: int = 0) -> None:
    """Make a file of arrays: of features, of data of one's own, or of a dataset's raw files."""
    features, own_data = plan.features(), plan.own_data()
    require_known("arrays", [name], [*features, *own_data, *of_images()])
    if name in features:
        from fedpriv.train.inputs import write_features

        listed = prepared(features[name].data, RESOURCES)
        write_features(features[name], listed, RESOURCES / f"{name}.npz", speed(plan, threads))
    elif name in own_data:
        own.prepare(own_data[name], RESOURCES)
    else:
        decode(name, RESOURCES)


def partition(plan: Plan, seed: int, ids: Sequence[str]) -> None:
    """Deal the training examples to the clients, at a seed, for each of these partitions."""
    from fedpriv.train.inputs import write_partition

    require_known("partition", ids, plan.partitions())
    for one, out in zip(ids, dealt(plan, seed, *ids), strict=True):
        run = plan.partitions()[one]
        write_partition(run, seed, RESOURCES / f"{arrays_id(run)}.npz", Path(out))


def train(plan: Plan, paper: str, runs: Sequence[str], threads: int = 0) -> None:
    """Train runs of a paper, each as RUN/SEED, one after the other, or go on with them."""
    from fedpriv.train.loop import train

    def one(name: str, seed: int, out: Path) -> None:
        run, files = plan.runs[paper][name], inputs(plan, Batch(plan.preset.preset, paper, [(name, seed)]))
        labels = plan.labels(paper, name) | {"account": run.account.model_dump()}
        train(run, name, seed, *map(Path, files), out=out, speed=speed(plan, threads), labels=labels)

    in_turn("training", plan, paper, runs, one)


def account(plan: Plan, paper: str, runs: Sequence[str]) -> None:
    """Write the ledger of each run directory, counted as its config says."""
    from fedpriv.account.runs import account

    in_turn("accounting", plan, paper, runs, lambda name, _, out: account(out, deltas(plan, paper, name)))


def take(plan: Plan, paper: str, runs: Sequence[str]) -> None:
    """Account stored runs where they are: their directories get a ledger and a summary that says where."""
    from fedpriv.keep import index, take

    stored = index.stored(plan, REFERENCE, paper)
    for name, _, out in directories(plan, paper, runs):
        if (path := stored.get(f"{out}/")) is None:
            raise BadInput(f"{out}: found nothing stored in {REFERENCE}, allowed: a stored run")
        take.take(
            path, out, plan.labels(paper, name) | {"account": plan.runs[paper][name].account.model_dump()}
        )
    account(plan, paper, runs)


def audit(plan: Plan, paper: str, results: Path = RESULTS) -> None:
    """Attack all runs of a paper that are in `results`."""
    from fedpriv.audit.finished import audit_runs

    audit_runs(sorted(finished(plan, paper, results)), of_paper(plan, paper, results) / "findings.parquet")
    done(plan, "audit", paper, results)


def collect(plan: Plan, paper: str, results: Path = RESULTS) -> None:
    """Put all runs of a paper in `results` into its tables; another run than the plan's is BadInput."""
    from fedpriv.report.collect import collect

    runs = finished(plan, paper, results)
    check({str(directory): identity for directory, identity in runs.items()})
    collect(sorted(runs), of_paper(plan, paper, results))
    done(plan, "collect", paper, results)


def tables(plan: Plan, paper: str, results: Path = RESULTS) -> None:
    """Render the tables of a paper and judge its claims."""
    from fedpriv.report.paper import write_tables

    write_tables(of_paper(plan, paper, results), declared(plan, paper))
    done(plan, "tables", paper, results)


def figures(plan: Plan, paper: str, results: Path = RESULTS) -> None:
    """Draw the figures of a paper."""
    from fedpriv.report.paper import write_figures

    write_figures(of_paper(plan, paper, results), {"figures": drawn(plan, paper)})
    done(plan, "figures", paper, results)


def report(plan: Plan, results: Path = RESULTS, comparison: Path | None = REFERENCE / "paper") -> None:
    """Put all that was built of a preset on one page, beside the `comparison`."""
    from fedpriv.report import page

    page.write(contents(plan), results / plan.preset.preset / "report.html", comparison)
    done(plan, "report", "", results)


OF_PAPER: Mapping[str, Callable[[Plan, str, Path], None]] = {
    "audit": audit,
    "collect": collect,
    "tables": tables,
    "figures": figures,
}


def speed(plan: Plan, threads: int) -> Speed:
    """Return how fast a preset trains; `threads`, if there are any, are those of the job."""
    return plan.preset.speed.model_copy(update={"threads": threads} if threads else {})


def deltas(plan: Plan, paper: str, run: str) -> Deltas:
    """Return at which δ a run is counted."""
    return Deltas(**plan.runs[paper][run].account.model_dump())


def of_paper(plan: Plan, paper: str, results: Path) -> Path:
    """Return the folder of a paper in `results`."""
    require_known("paper", [paper], plan.papers)
    return results / plan.preset.preset / paper


def finished(plan: Plan, paper: str, results: Path) -> dict[Path, str]:
    """Return the identities that the plan has of the finished runs in `results`, by their directories."""
    planned = {
        results / Path(directory).relative_to(RESULTS): identity
        for directory, identity in identities(plan, paper).items()
    }
    return {one: identity for one, identity in planned.items() if (one / "summary.json").exists()}


def done(plan: Plan, step: str, paper: str, results: Path) -> None:
    """Note what the files of a step were made with: the last thing that it does."""
    note(made_now(plan, step, paper), results / Path(beside(plan, step, paper)).relative_to(RESULTS))


def directories(plan: Plan, paper: str, runs: Sequence[str]) -> Iterator[tuple[str, int, Path]]:
    """Yield the name, seed and directory of runs, given as RUN/SEED; BadInput for what the plan has not."""
    require_known("paper", [paper], plan.papers)
    planned = everything(plan, paper)
    there = dict(zip(planned.words, zip(planned.runs, planned.files(""), strict=True), strict=True))
    require_known("run", runs, there, f"fedpriv list runs --paper {paper}")
    for one in runs:
        (name, seed), directory = there[one]
        yield name, seed, Path(directory)


def in_turn(
    doing: str, plan: Plan, paper: str, runs: Sequence[str], job: Callable[[str, int, Path], object]
) -> None:
    """Do the job of every run, told its name, seed and directory; what failed is raised after all of them."""
    failed: dict[str, Exception] = {}
    for name, seed, out in directories(plan, paper, runs):
        what = f"{paper} {name} seed {seed}"
        announce(f"{doing} {what}")
        try:
            job(name, seed, out)
        except Exception as error:
            failed[what] = error
    if failed:
        raise ExceptionGroup(f"{doing}: failed: {'; '.join(failed)}", list(failed.values()))
