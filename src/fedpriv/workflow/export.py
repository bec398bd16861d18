"""Tables and figures of finished runs, as an author puts them into a paper."""

from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from fedpriv.account.ledgers import LEDGER
from fedpriv.account.runs import write_ledger
from fedpriv.config.files import figure_names
from fedpriv.config.plan import Plan, make_plan
from fedpriv.errors import BadInput
from fedpriv.paper.figures import FigureSpec, RoundsFigure
from fedpriv.paper.paper import read_yaml
from fedpriv.report.kit import Kit, write_citations, write_figure, write_table
from fedpriv.report.results import load_results
from fedpriv.store.machine import cores
from fedpriv.workflow.rerender import account_together, directories_of_runs, render, share_work, take_paper


def export(folder: Path, names: Sequence[str], kit: Kit, configs: Path, version: str) -> list[Path]:
    """Write tables and figures of RESULTS/PAPER as an author needs them; return the files.

    Each of the `names` was rendered. A table is taken as it was. A figure is drawn anew from the runs that
    were collected there, or of reference results from the stored runs that it reads; where it has an ε they
    are accounted: seconds a run.
    """
    preset, paper = folder.resolve().parts[-2:]
    drawn = [name for name in names if not (folder / "tables" / f"{name}.json").exists()]
    tables = [folder / "tables" / f"{name}.tex" for name in names if name not in drawn]
    require_latex(folder, tables)
    config, shown = configs / f"{preset}.yaml", [f"{paper}/{name}" for name in drawn or names]
    plan = make_plan(read_yaml(config) | {"show": shown}, configs / "papers", str(config))
    files: list[Path] = []
    for path in tables:
        files += write_table(kit, paper, path)
    if drawn:
        with collected(folder, plan, paper) as runs:
            results, declared = load_results(runs), figure_names(plan, paper)
            for name in drawn:
                files += write_figure(kit, paper, name, declared[name], results)
    return [*files, *write_citations(kit, plan.papers[paper], version)]


def require_latex(folder: Path, tables: Sequence[Path]) -> None:
    """Raise BadInput where one of the tables was not rendered as LaTeX."""
    if without := [path.stem for path in tables if not path.exists()]:
        fine = ", ".join(sorted(path.stem for path in folder.glob("tables/*.tex"))) or "none here"
        raise BadInput(f"{without[0]}: found no table as LaTeX, allowed: {fine}")


@contextmanager
def collected(folder: Path, plan: Plan, paper: str) -> Generator[Path]:
    """Yield the folder of the collected runs of a plan: where they are, or made of the stored ones."""
    if (folder / "runs.parquet").exists():
        yield folder
        return
    with TemporaryDirectory() as temporary:
        out = Path(temporary)
        stored = take_paper(plan, paper, folder.parents[1], out)
        if not stored.runs:
            raise BadInput(f"{folder}: found no run of {', '.join(plan.preset.show)}, allowed: finished runs")
        if any(map(reads_epsilon, plan.papers[paper].figures.values())):
            with ProcessPoolExecutor(cores(), get_context("spawn")) as pool:
                share_work(pool, "accounting", "run", account_together, directories_of_runs([stored]))
        else:
            nothing = pd.DataFrame({name: [] for name in LEDGER}).astype(LEDGER)
            for path, directory in stored.runs.items():
                write_ledger(directory, nothing, plan.runs[paper][path.parent.name].account)
        render(("audit", "collect"), stored, out)
        yield out / plan.preset.preset / paper


def reads_epsilon(figure: FigureSpec) -> bool:
    """Return False for a figure of accuracies alone, whose runs need not be accounted: that takes minutes."""
    read = (curve for part in figure.parts() for curve in part.read)
    plain = isinstance(figure, RoundsFigure) and "{" not in figure.caption
    return not plain or any(curve.selector for curve in read)
