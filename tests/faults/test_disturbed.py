"""A clock that is set back, and numbers of one client that are not finite (of a model: train/test_train)."""

from functools import partial

import numpy as np
from support.child import live
from support.small import TRAIN

from fedpriv.cli import app
from fedpriv.store import parquet, summary


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
    trace = parquet.load_frame(folder / "out/trace.parquet")
    assert trace["not_finite"].tolist() == [0, 1, 0, 0, 0]
    assert np.isfinite(trace[["train_loss", "test_loss", "test_accuracy"]]).all(axis=None)
    assert summary.load_summary(folder / "out/summary.json")["diverged"] is None
