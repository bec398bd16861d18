"""Processes that are ended in the midst of their work, by a signal that leaves them no time, or some."""

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from signal import SIGKILL, SIGTERM, SIGUSR2

import pytest
from support.child import live
from support.fault import Fault, at_call, at_removal, at_rename, die, die_twice, die_writing
from support.small import ACCOUNT, TRAIN, contents, render, state_in, trained_in

from fedpriv.cli import app
from fedpriv.store.machine import engines


def by(number: signal.Signals, when: str, moment: Callable, *place: object, **how: object) -> Fault:
    return Fault(number.name, when, partial(moment, *place, blow=partial(die, number), **how))


def in_writing(when: str, size: int) -> Fault:
    return Fault("SIGXFSZ", when, partial(die_writing, size))


a_round = partial(at_call, "fedpriv.train.loop", "run_round")
measuring = partial(at_call, "fedpriv.train.probes", "record_client_distances")
engine = "fedpriv_engines.native.gradients", "check_range"
fast = (found := engines()) and not found.why_not()
working = partial(at_call, *(engine if fast else ("fedpriv.local.threads", "as_read")))
TRAINING = [
    by(SIGKILL, "train: in the midst of a round, while clients work", working, 7),
    by(SIGKILL, "train: half of the first state written", at_rename, "state.safetensors", torn=True),
    by(SIGKILL, "train: half of the trace written", at_rename, "trace.parquet", torn=True),
    by(SIGKILL, "train: everything written but the summary", at_rename, "summary.json"),
    by(SIGKILL, "train: finished, its state not yet removed", at_removal, "state.safetensors"),
]
TRAIN_TWO = ("step", "train", "config/small.yaml", "small", "private/0", "private/1")


WARNED = [  # and the round that is saved
    (by(SIGTERM, "train: in the midst of a round, at its measurements", measuring, 4), 4),
    (by(SIGUSR2, "train: in the last round", a_round, 5), 5),
]
TWICE = Fault("SIGTERM", "train: twice", partial(a_round, 3, die_twice))
ACCOUNTING = [
    in_writing("account: by the kernel, in the midst of writing the ledger", 999),
    by(SIGTERM, "account: the ledger written but not yet named", at_rename, "ledger.parquet"),
]
RENDERING = [
    by(SIGKILL, "render: half of one file of a table written", at_rename, "table1.md", torn=True),
    by(SIGTERM, "render: half of a figure written", at_rename, "epsilons.png", torn=True),
]


def number(fault):
    return getattr(signal, fault.broken)


@pytest.mark.parametrize("fault", TRAINING, ids=str)
def test_a_killed_training_goes_on_to_the_same_bits(fault, folder, undisturbed):
    assert live(folder, partial(app.main, TRAIN), fault.how).code == -number(fault)
    known = trained_in(undisturbed)
    assert trained_in(folder).items() <= known.items()  # what has its name is whole
    assert app.main(TRAIN) == 0
    assert trained_in(folder) == known
    assert not list(folder.glob("out/.*")) + list(folder.glob("out/resume/state*"))


@pytest.mark.parametrize(("fault", "round"), [*WARNED, (TWICE, 3)], ids=str)
def test_a_warned_training_saves_its_round_and_goes_on_to_the_same_bits(
    fault, round, folder, undisturbed, capsys
):
    ended = live(folder, partial(app.main, TRAIN), fault.how)
    assert ended.code == 128 + number(fault)
    told = f"{round} of 5 rounds are saved; stopped by {fault.broken}, the same command goes on"
    assert ended.line == f"fedpriv: private seed 0: {told}"
    state = state_in(folder / "out/resume/state.safetensors")
    assert state and state.round == round
    assert app.main(TRAIN) == 0
    assert f"private seed 0: {round} of 5 rounds were saved, the training goes on" in capsys.readouterr().err
    assert trained_in(folder) == trained_in(undisturbed)


def test_of_a_job_of_several_trainings_none_begins_after_a_warning(folder, undisturbed):
    run, files = Path("results/small/small/runs/private"), Path("results/small/partitions")
    for seed in ("0", "1"):
        (dealt,) = (undisturbed / "resources/partitions").glob("*")
        assert app.main(("step", "partition", "config/small.yaml", seed, dealt.name)) == 0
    assert files.exists()
    assert live(folder, partial(app.main, TRAIN_TWO), WARNED[0][0].how).code == 143
    assert [path.name for path in run.iterdir()] == ["seed0"]
    assert app.main(TRAIN_TWO) == 0
    assert trained_in(folder, run / "seed0") == trained_in(undisturbed)


@pytest.mark.parametrize("fault", ACCOUNTING, ids=str)
def test_a_killed_accounting_leaves_no_ledger_and_is_done_again(fault, trained, undisturbed):
    assert live(trained, partial(app.main, ACCOUNT), fault.how).code == -number(fault)
    assert not (trained / "out/ledger.parquet").exists()
    assert app.main(ACCOUNT) == 0
    assert contents(trained / "out") == contents(undisturbed / "out")


@pytest.mark.parametrize("fault", RENDERING, ids=str)
def test_killed_rendering_leaves_whole_files_and_is_done_again(fault, accounted, undisturbed):
    assert live(accounted, render, fault.how).code == -number(fault)
    known = contents(undisturbed / "results")
    assert contents(accounted / "results").items() < known.items()
    render()
    assert contents(accounted / "results") == known
