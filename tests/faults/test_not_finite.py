"""Numbers that are no longer finite: of the whole model, and of one client."""

from functools import partial
from pathlib import Path

import numpy as np
import yaml
from support.child import live
from support.fault import Fault
from support.small import ACCOUNT, PRESET, TRAIN, render

from fedpriv.cli import app
from fedpriv.store import parquet, summary

WEIGHTS = Fault(
    "NaN", "train: in loss and weights, by a rate of 1e30", "the run ends as diverged; its table says so"
)
CLIENT = Fault(
    "NaN",
    "train: in all that one client sends in round 2",
    "it counts as nothing and is counted; the run goes on",
)
FAULTS = [WEIGHTS, CLIENT]


def test_a_run_whose_loss_is_nan_ends_as_diverged_in_the_tables(folder):
    patch = {"patches": {"*": {"server": {"learning_rate": 1e30}}}}
    (folder / "config/small.yaml").write_text(yaml.safe_dump(PRESET | patch))
    assert app.main(TRAIN) == 0
    assert parquet.load(Path("out/trace.parquet"))["train_loss"].isna().any()
    told = summary.load_summary(Path("out/summary.json"))
    assert told["diverged"] == told["rounds"] < 5 and told["test_accuracy"] is None
    assert app.main(ACCOUNT) == 0
    render()
    (line,) = (line for line in Path("results/table1.md").read_text().splitlines() if "reproduced" in line)
    assert line.count("diverged") == 2  # of the baseline and of the private run
    assert "reproduced |" not in Path("results/claims.md").read_text().replace("not reproduced |", "")


def poisoned() -> None:
    """Let the first client of round 2 send NaN."""
    from fedpriv.local.client import LocalEngine

    work, rounds = LocalEngine.train_clients, []

    def train_clients(self, *arguments, **named):
        done = work(self, *arguments, **named)
        rounds.append(1)
        if len(rounds) == 2:
            done.updates[0] = float("nan")
        return done

    LocalEngine.train_clients = train_clients


def test_a_client_that_sends_nan_is_counted_and_does_no_harm(folder):
    assert live(folder, partial(app.main, TRAIN), poisoned).code == 0
    trace = parquet.load(folder / "out/trace.parquet")
    assert trace["not_finite"].tolist() == [0, 1, 0, 0, 0]
    assert np.isfinite(trace[["train_loss", "test_loss", "test_accuracy"]]).all(axis=None)
    assert summary.load_summary(folder / "out/summary.json")["diverged"] is None
