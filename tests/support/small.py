"""A preset of one small private run, and what is built of it: training, accounting, rendering."""

from functools import partial
from pathlib import Path

import numpy as np
import torch

from fedpriv.config.run import Run
from fedpriv.frozen import parse
from fedpriv.local.client import Task, local_engine
from fedpriv.local.work import Speed
from fedpriv.paper.paper import Paper
from fedpriv.report import claims, figures, tables
from fedpriv.report.collect import collect
from fedpriv.report.results import load_results
from fedpriv.store import npz, parquet, summary
from fedpriv.trace import MEASURED
from fedpriv.train import checkpoint, inputs
from fedpriv.train.record import RoundState
from support.tiny_paper import tiny_paper, write_preset

PRESET = {
    "preset": "small",
    "papers": ["small"],
    "speed": {"device": "cpu", "threads": 1, "checkpoint_every": 2},
}
PAPER = tiny_paper(
    "small",
    {
        "private": {
            "dataset": "digits",
            "partition": {"law": "iid", "clients": 10, "examples": 20},
            "model": {"name": "cnn", "widths": [2, 2, 4]},
            "scheme": {"name": "client_dp", "clip_l2": 0.5, "noise_multiplier": 2.0},
            "cohort": {"law": "poisson", "rate": 0.5},
            "server": {"learning_rate": 0.1, "momentum": 0.5},
            "rounds": 5,
            "probe": {"clients": 4, "panel": 4},
            "account": {"delta": 1e-3},
        }
    },
    baseline="private",
    clients=10,
)
TRAIN = ("run", "config/small.yaml", "--paper", "small", "--run", "private", "--out", "out")
ACCOUNT = ("account", "out")
RESULTS = Path("results")


def state_in(path: Path) -> RoundState | None:
    """Return the state of the run that training would go on from, here and with the preset's speed."""
    run = Run.model_validate(PAPER["runs"]["private"])
    nothing = torch.zeros(0, 28, 28, dtype=torch.uint8), torch.zeros(0, dtype=torch.int64)
    with local_engine(Task(run.model, 10, *nothing), Speed.model_validate(PRESET["speed"])) as engine:
        return checkpoint.load_state(path, run.identity("private", 0), engine.name, torch.device("cpu"))


def lay(folder: Path) -> Path:
    """Write the preset, its paper and its data into `folder`."""
    write_preset(folder, PRESET, PAPER)
    run = Run.model_validate(PAPER["runs"]["private"])
    inputs.prepare(run, folder / "resources", (), Speed(device="cpu"))
    return folder


def render() -> None:
    """Collect the run in `out` and render table, figure and claims, as the workflow does, in this folder."""
    frame = load_results(collect([Path("out")], RESULTS))
    for name, write in RENDERERS.items():
        write(frame, stem=Path("results") / name)


DECLARED = parse(Paper.model_validate, PAPER, "small")
RENDERERS = {
    "table1": partial(tables.write_table, declared=DECLARED.tables["table1"]),
    "epsilons": partial(figures.write_figure, declared=DECLARED.figures["epsilons"]),
    "claims": partial(claims.write_claims, claims=DECLARED.claims, tables=DECLARED.tables),
}


READERS = {
    "trace.parquet": lambda path: parquet.load_frame(path).drop(columns=list(MEASURED)).to_json(),
    "ledger.parquet": lambda path: parquet.load_frame(path).to_json(),
    "runs.parquet": lambda path: parquet.load_frame(path).to_json(),
    "rounds.parquet": lambda path: parquet.load_frame(path).drop(columns=list(MEASURED)).to_json(),
    "epsilons.parquet": lambda path: parquet.load_frame(path).to_json(),
    "distances.npz": lambda path: as_bytes(npz.load_all(path, "distances")),
    "summary.json": lambda path: {
        name: told
        for name, told in summary.load_summary(path).items()
        if name not in (*MEASURED, "seal", "seals")
    },
}


def as_bytes(arrays: dict[str, np.ndarray]) -> dict[str, tuple]:
    """Return what makes arrays the same to the last bit."""
    return {name: (one.dtype.str, one.shape, one.tobytes()) for name, one in arrays.items()}


def contents(folder: Path) -> dict[str, object]:
    """Return what the files below a folder say, by path, without what was measured and what is hidden."""
    files = [
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".") and "resume" not in path.parts
    ]
    return {
        str(path.relative_to(folder)): READERS.get(path.name, Path.read_bytes)(path) for path in sorted(files)
    }


def trained_in(folder: Path, out: str = "out") -> dict[str, object]:
    """Return what training left in `folder`, as far as it is there."""
    return {name: said for name, said in contents(folder / out).items() if name != "ledger.parquet"}
