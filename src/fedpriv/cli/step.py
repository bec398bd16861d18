"""The steps of the workflow as its rules call them: a preset, and by name what of it is to be made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedpriv.cli.options import nested

if TYPE_CHECKING:
    from fedpriv.config.plan import Plan

app = typer.Typer(no_args_is_help=True)

Preset = Annotated[Path, typer.Argument(metavar="CONFIG", help="A preset, for example config/laptop.yaml.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A key of the preset; repeatable.")
]
Threads = Annotated[int, typer.Option(min=0, help="Worker threads on a CPU; 0: those of the preset.")]
Runs = Annotated[list[str], typer.Argument(metavar="RUN/SEED...")]


def planned(config: Path, settings: list[str] | None) -> Plan:
    """Return the plan of a preset as Snakemake has it: its papers are in config/papers, too."""
    from fedpriv.config.plan import make_plan
    from fedpriv.paper.read import read_yaml

    return make_plan(read_yaml(config) | nested(settings or []), Path("config/papers"), str(config))


@app.command()
def fetch(config: Preset, dataset: str, file: str, settings: Settings = None) -> None:
    """Fetch one raw file of a dataset."""
    from fedpriv.workflow import steps

    steps.fetch(planned(config, settings), dataset, file)


@app.command()
def photographs(config: Preset, dataset: str, settings: Settings = None) -> None:
    """Look at the photographs of a dataset and list them."""
    from fedpriv.workflow import steps

    steps.photographs(planned(config, settings), dataset)


@app.command()
def arrays(config: Preset, name: str, threads: Threads = 0, settings: Settings = None) -> None:
    """Make a file of arrays, or go on with it."""
    from fedpriv.workflow import steps

    steps.arrays(planned(config, settings), name, threads)


@app.command()
def partition(
    config: Preset,
    seed: Annotated[int, typer.Argument(min=0)],
    partitions: Annotated[list[str], typer.Argument(metavar="PARTITION...")],
    settings: Settings = None,
) -> None:
    """Deal training examples to clients."""
    from fedpriv.workflow import steps

    steps.partition(planned(config, settings), seed, partitions)


@app.command()
def train(config: Preset, paper: str, runs: Runs, threads: Threads = 0, settings: Settings = None) -> None:
    """Train runs, or go on with them."""
    from fedpriv.workflow import steps

    steps.train(planned(config, settings), paper, runs, threads)


@app.command()
def account(config: Preset, paper: str, runs: Runs, settings: Settings = None) -> None:
    """Count the ε of trained runs."""
    from fedpriv.workflow import steps

    steps.account(planned(config, settings), paper, runs)


@app.command()
def take(config: Preset, paper: str, runs: Runs, settings: Settings = None) -> None:
    """Count the ε of stored runs, which stay where they are."""
    from fedpriv.workflow import steps

    steps.take(planned(config, settings), paper, runs)


def of_paper(name: str) -> Callable[..., None]:
    """Return the command of a step that takes a whole paper."""

    def step(config: Preset, paper: str, settings: Settings = None) -> None:
        from fedpriv.workflow import steps

        steps.OF_PAPER[name](planned(config, settings), paper, steps.RESULTS)

    return step


for name, said in {
    "audit": "Attack the runs of a paper.",
    "collect": "Put the runs of a paper into one frame.",
    "tables": "Render the tables of a paper and judge its claims.",
    "figures": "Draw the figures of a paper.",
}.items():
    app.command(name, help=said)(of_paper(name))


@app.command()
def report(config: Preset, settings: Settings = None) -> None:
    """Put all that was built of a preset on one page."""
    from fedpriv.workflow import steps

    steps.report(planned(config, settings))


@app.command()
def coverage(
    study: Annotated[Path, typer.Argument(metavar="YAML", help="Its settings, as config/coverage.yaml.")],
    out: Annotated[Path, typer.Argument(help="The folder of its table.")],
) -> None:
    """Measure how often the Bayesian estimate covers the true ε."""
    from fedpriv.account.coverage import write
    from fedpriv.paper.read import read_yaml

    write(read_yaml(study), out / "coverage.csv", out / "coverage.md")
