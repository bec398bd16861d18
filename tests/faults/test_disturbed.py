"""A clock that is set back, and numbers of one client that are not finite (of a model: train/test_train)."""

import os
import time
from functools import partial

import numpy as np
from support.child import live
from support.fault import at_call
from support.small import ACCOUNT, TRAIN, contents, render, trained_in

from fedpriv.cli import app
from fedpriv.store import parquet, summary

YEAR = 365 * 86400


def back() -> None:
    """Set this process's clock back."""
    now = time.time
    time.time = lambda: now() - YEAR


def test_training_does_not_ask_what_time_it_is(folder, undisturbed):
    assert (
        live(
            folder, partial(app.main, TRAIN), partial(at_call, "fedpriv.train.loop", "run_round", 3, back)
        ).code
        == 0
    )
    assert trained_in(folder) == trained_in(undisturbed)
    assert (parquet.load_frame(folder / "out/trace.parquet")["seconds"] >= 0).all()


def test_what_was_made_before_it_was_wanted_is_used(trained, undisturbed):
    assert app.main(ACCOUNT) == 0
    for path in (
        trained / "out/ledger.parquet",
        trained / "out/summary.json",
        trained / "resources/digits.npz",
    ):
        os.utime(path, (path.stat().st_mtime - YEAR,) * 2)
    assert app.main(TRAIN) == 0
    render()
    assert contents(trained / "out") == contents(undisturbed / "out")
    assert contents(trained / "results") == contents(undisturbed / "results")


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
