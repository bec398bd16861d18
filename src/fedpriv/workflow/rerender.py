"""Every reference table, figure and verdict again, from the stored runs alone."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from fedpriv.account.runs import account
from fedpriv.config.files import figures, stored_runs, tables
from fedpriv.config.plan import Plan, load_preset
from fedpriv.errors import BadInput, match_name
from fedpriv.frozen import Deltas
from fedpriv.progress import count_each, progress
from fedpriv.store.files import writing
from fedpriv.store.machine import cores
from fedpriv.store.rundir import take_stored
from fedpriv.store.summary import RUNS
from fedpriv.workflow import steps

# One thread, as of the workflow's jobs: with more they stand in line. And AVX2 where there is AVX-512, whose
# logarithms and sums differ in their last digits, and so would the bytes: of NumPy's loops, and of its BLAS.
ARITHMETIC = {
    "OMP_NUM_THREADS": "1",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
}
PATTERNS = ("tables/*.*", "figures/*.*", "claims*.*", "runs.*", "details.*")  # of a paper
NOT_STORED = (".pdf",)  # the figures, of which the reference has the PNG


class RenderedPaper(NamedTuple):
    """What a paper's stored runs give, against what is in the reference."""

    stored: int  # runs of the plan that are stored
    planned: int
    files: list[str]  # that were rendered
    differ: list[str]  # of which the reference has other bytes, or only one of both has any

    def lines(self, paper: str, reference: Path) -> Iterator[str]:
        """Yield what is printed of it: a line in all, and one for each file that differs."""
        counts = f"{self.stored} of {self.planned} runs stored, {len(self.files)} files"
        yield f"{paper}: {f'{counts}, {len(self.differ)} differ' if self.stored else 'no stored runs'}"
        yield from (f"{reference / paper / file}: differs" for file in self.differ)


class PresetPaper(NamedTuple):
    """A paper of a preset, and the directories of its stored runs: by their files in the reference."""

    plan: Plan
    name: str
    runs: dict[Path, Path]


def rerender(reference: Path, configs: Path, out: Path, only: Sequence[str] = ()) -> dict[str, RenderedPaper]:
    """Render every paper of every preset in `reference` below `out`; return what came, by preset/paper.

    These are the steps of the workflow after training. Of those that are `only` asked for, as preset/paper,
    none other and no report. Needs neither torch nor data nor a network. What a paper's table says "not run"
    of is not stored. Runs of another identity than the plan's are left out. What `out` may be, `check_out`
    says.
    """
    check_out(out, reference)
    chosen = chosen_papers(reference, configs, only)
    papers = render_papers(chosen, reference, out)
    if not only:
        write_pages(papers, out)
    return {
        f"{paper.plan.preset.preset}/{paper.name}": compare_paper(paper, reference, out) for paper in papers
    }


def reference_presets(reference: Path) -> list[str]:
    """Return the names of the presets that the reference has results of; none is BadInput."""
    presets = sorted(path.name for path in reference.glob("*") if path.is_dir() and path.name != RUNS)
    if not presets:
        raise BadInput(f"'{reference}' holds no reference results.")
    return presets


def chosen_papers(reference: Path, configs: Path, only: Sequence[str]) -> list[tuple[Plan, str]]:
    """Return the papers of the presets in `reference`, or `only` those; BadInput for an unknown one."""
    presets = reference_presets(reference)
    asked = {match_name("preset", name.partition("/")[0], presets) for name in only} or set(presets)
    plans = [load_preset(configs / f"{name}.yaml") for name in count_each("reading", sorted(asked), "preset")]
    papers = {f"{plan.preset.preset}/{paper}": (plan, paper) for plan in plans for paper in plan.papers}
    names = {match_name("result", name, papers) for name in only} or set(papers)
    return [pair for name, pair in papers.items() if name in names]


def render_papers(chosen: Iterable[tuple[Plan, str]], reference: Path, out: Path) -> list[PresetPaper]:
    """Do the steps after training for the stored runs of papers, on all cores; return the papers."""
    # Processes, for accounting is Python as much as NumPy; started afresh, for this one may have threads.
    os.environ.update(ARITHMETIC)
    with ProcessPoolExecutor(cores(), get_context("spawn")) as pool:
        each = [(plan, paper, reference, out) for plan, paper in chosen]
        papers: list[PresetPaper] = share_work(pool, "stored runs", "paper", take_paper, each)
        stored = [paper for paper in papers if paper.runs]
        share_work(pool, "accounting", "run", account_together, directories_of_runs(stored))
        stored.sort(key=lambda paper: -len(paper.runs))  # what takes longest comes first
        for steps_together in (("audit", "collect"), ("tables",), ("figures",)):
            arguments = [(steps_together, paper, out) for paper in stored]
            share_work(pool, " and ".join(steps_together), "paper", render, arguments)
    return papers


def write_pages(papers: Iterable[PresetPaper], out: Path) -> None:
    """Write the page of every preset of which all papers have stored runs."""
    presets: dict[str, list[PresetPaper]] = {}
    for paper in papers:
        presets.setdefault(paper.plan.preset.preset, []).append(paper)
    for same in count_each("pages", list(presets.values()), "page"):
        if all(paper.runs for paper in same):
            steps.report(same[0].plan, results=out, comparison=None)


def share_work(
    pool: Executor, title: str, unit: str, function: Callable[..., Any], each: Sequence[tuple[Any, ...]]
) -> list[Any]:
    """Return the results of the function for `each`, in their order; progress is shown."""
    futures = [pool.submit(function, *arguments) for arguments in each]
    with progress(title, 0, len(each), unit) as report:
        for done, future in enumerate(as_completed(futures), start=1):
            future.result()  # one that failed ends it
            report({unit: done})
    return [future.result() for future in futures]


def check_out(out: Path, reference: Path) -> None:
    """Raise BadInput unless `out` holds nothing, and is neither of the reference nor of finished results.

    Runs replace what has their names there, and what is rendered is compared with the reference.
    """
    for there in (reference, Path("results")):
        if out.resolve().is_relative_to(there.resolve()):
            raise BadInput(f"--out {out} is in {there}. Take a folder outside of it.")
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        what = "a folder that is not empty" if out.is_dir() else "a file"
        raise BadInput(f"--out {out} is {what}. Take a new folder, or an empty one.")


def take_paper(plan: Plan, paper: str, reference: Path, out: Path) -> PresetPaper:
    """Take the stored runs of a paper to where the workflow has them, but for `results`."""
    runs = {
        path: take_stored(
            path,
            out / Path(key.directory(plan.preset.preset)).relative_to("results"),
            plan.labels(paper, key.run),
        )
        for key, path in stored_runs(plan, reference, [paper]).items()
    }
    return PresetPaper(plan, paper, runs)


def directories_of_runs(papers: Iterable[PresetPaper]) -> list[tuple[list[list[Path]], Deltas]]:
    """Return the seeds of every run, and the directories of each: one for every preset that has it."""
    groups: dict[tuple[Path, Deltas], dict[Path, list[Path]]] = {}
    for paper in papers:
        for path, directory in paper.runs.items():
            counted = path.parent, paper.plan.runs[paper.name][path.parent.name].account
            groups.setdefault(counted, {}).setdefault(path, []).append(directory)
    return [(list(seeds.values()), deltas) for (_, deltas), seeds in groups.items()]


def account_together(seeds: Sequence[Sequence[Path]], deltas: Deltas) -> None:
    """Account all seeds of a run in one process, which knows what their noise costs after the first."""
    for first, *others in seeds:
        ledger = account(first, deltas)
        for directory in others:  # of the same bytes
            shutil.copyfile(ledger, directory / ledger.name)


def render(names: Iterable[str], paper: PresetPaper, out: Path) -> None:
    """Do steps of a paper."""
    for name in names:
        steps.PAPER_STEPS[name](paper.plan, paper.name, results=out)


def compare_paper(paper: PresetPaper, reference: Path, out: Path) -> RenderedPaper:
    """Return the outcome of a paper's stored runs; without any, nothing differs."""
    preset, planned = paper.plan.preset, len(paper.plan.runs[paper.name]) * len(paper.plan.seeds)
    if not paper.runs:
        return RenderedPaper(0, planned, [], [])
    root, folder = f"results/{preset.preset}/{paper.name}", Path(preset.preset, paper.name)
    written = (*tables(paper.plan, paper.name), *figures(paper.plan, paper.name))
    files = [str(Path(file).relative_to(root)) for file in written if not file.endswith(NOT_STORED)]
    differ = differing_files(reference / folder, out / folder, files)
    return RenderedPaper(len(paper.runs), planned, sorted(files), differ)


def differing_files(reference: Path, out: Path, files: list[str]) -> list[str]:
    """Return the files whose bytes differ, and those that only one of the folders has."""
    paths = (path for pattern in PATTERNS for path in reference.glob(pattern))
    there = {str(path.relative_to(reference)) for path in paths if path.suffix not in NOT_STORED}
    return sorted(
        file
        for file in there.union(files)
        if file not in there
        or file not in files
        or (reference / file).read_bytes() != (out / file).read_bytes()
    )


def write_reference(reference: Path, out: Path, outcomes: Mapping[str, RenderedPaper]) -> None:
    """Write what was rendered and differs into the reference, a file at a time, atomically."""
    for paper, outcome in outcomes.items():
        for file in set(outcome.differ).intersection(outcome.files):
            with writing(reference / paper / file) as path:
                path.write_bytes((out / paper / file).read_bytes())
