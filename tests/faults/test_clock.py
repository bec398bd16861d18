"""A clock that is set back: while a run trains, and between the files of a finished one."""

import os
import time
from functools import partial

from support.child import live
from support.fault import Fault, at_call
from support.small import ACCOUNT, TRAIN, contents, render, trained_in

from fedpriv.cli import app
from fedpriv.store import parquet

YEAR = 365 * 86400
FAULTS = [
    Fault("clock set back by a year", "train: after its first state", "the same bits; no time is negative"),
    Fault(
        "clock set back by a year",
        "between train, account and render",
        "what is there is used, and the same is rendered",
    ),
]


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
    assert (parquet.load(folder / "out/trace.parquet")["seconds"] >= 0).all()


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
