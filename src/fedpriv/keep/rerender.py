"""Every reference table, figure and verdict again, from the archives alone."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from fedpriv.account.ledger import account
from fedpriv.account.spend import Deltas
from fedpriv.config.plan import Plan, load_preset
from fedpriv.config.targets import Batch, contents, drawn, figures, tables
from fedpriv.errors import BadInput
from fedpriv.files.atomic import writing
from fedpriv.keep.archive import read
from fedpriv.keep.index import place
from fedpriv.keep.unpack import unpack
from fedpriv.machine.environment import cores
from fedpriv.report import page
from fedpriv.report.collect import collect
from fedpriv.report.paper import write_figures, write_tables


class Rendered(NamedTuple):
    """What a paper's kept runs give, against what is in the reference."""

    kept: int  # runs of the plan that are kept
    planned: int
    files: list[str]  # that were rendered
    differ: list[str]  # of which the reference has other bytes, or only one of both has any


def rerender(reference: Path, configs: Path, out: Path) -> dict[str, Rendered]:
    """Render every paper of every preset in `reference` below `out`; return what came, by preset/paper.

    Needs neither torch nor data nor a network. What a paper's table says "not run" of is what is not kept.
    Runs of another identity than the plan's are left out.
    """
    presets = sorted(path for path in reference.glob("*") if path.is_dir())
    if not presets:
        raise BadInput(f"{reference}: found no presets, allowed: a folder of reference results")
    found: dict[str, Rendered] = {}
    for folder in presets:
        plan = load_preset(configs / f"{folder.name}.yaml")
        kept = {paper: kept_runs(plan, paper, reference, out) for paper in plan.papers}
        for paper, runs in kept.items():
            files = rendered(plan, paper, runs, out / folder.name / paper) if runs else []
            differ = differing(folder / paper, out / folder.name / paper, files) if runs else []
            planned = len(plan.runs[paper]) * len(plan.seeds)
            found[f"{folder.name}/{paper}"] = Rendered(len(runs), planned, files, differ)
        if all(kept.values()):
            page.write(contents(plan), out / folder.name / "report.html")
    return found


def kept_runs(plan: Plan, paper: str, reference: Path, out: Path) -> dict[Path, Deltas]:
    """Unpack the kept runs of a paper; return the δ at which each is to be accounted, by its directory."""
    runs, found = plan.runs[paper], {}
    for one in read(place(reference, plan.preset.preset, paper)):
        if one.run in runs and one.identity == runs[one.run].identity(one.run, one.seed):
            # Where the workflow has it, but for `results`.
            (directory,) = Batch(plan.preset.preset, paper, one.seed, [one.run]).files("")
            unpack(one, out / Path(directory).relative_to("results"))
            found[out / Path(directory).relative_to("results")] = Deltas(**runs[one.run].account.model_dump())
    return found


def rendered(plan: Plan, paper: str, runs: Mapping[Path, Deltas], out: Path) -> list[str]:
    """Account, collect and render the runs of a paper below `out`; return the files that a reference has."""
    # Processes, for accounting is Python as much as NumPy; started afresh, for this one may have threads.
    with ProcessPoolExecutor(min(cores(), len(runs)), get_context("spawn")) as pool:
        list(pool.map(account, runs, runs.values()))
    collect(sorted(runs), out / "runs.parquet")
    declared = plan.papers[paper].model_dump(include={"tables", "claims"})
    write_tables(out / "runs.parquet", declared, out)
    write_figures(out / "runs.parquet", {"figures": drawn(plan, paper)}, out)
    root = f"results/{plan.preset.preset}/{paper}"
    files = [str(Path(file).relative_to(root)) for file in (*tables(plan, paper), *figures(plan, paper))]
    return sorted(file for file in files if not file.endswith(".html"))


def differing(reference: Path, out: Path, files: list[str]) -> list[str]:
    """Return the files whose bytes differ, and those that only one of the folders has."""
    there = {str(path.relative_to(reference)) for path in results_in(reference)}
    return sorted(
        file
        for file in there.union(files)
        if file not in there
        or file not in files
        or (reference / file).read_bytes() != (out / file).read_bytes()
    )


def results_in(folder: Path) -> Iterator[Path]:
    """Yield the tables, figures and verdicts of a paper."""
    for pattern in ("tables/*.*", "figures/*.*", "claims.*"):
        yield from folder.glob(pattern)


def write(reference: Path, out: Path, found: Mapping[str, Rendered]) -> None:
    """Write what was rendered and differs into the reference, a file at a time, atomically."""
    for paper, one in found.items():
        for file in set(one.differ).intersection(one.files):
            with writing(reference / paper / file) as path:
                path.write_bytes((out / paper / file).read_bytes())
