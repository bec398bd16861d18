"""What is not of this run, or not of this engine: it is refused in one line, and left as it is."""

from functools import partial
from pathlib import Path
from signal import SIGKILL

import pytest
from support.child import live
from support.fault import Fault, at_call, die
from support.small import PAPER, TRAIN, trained_in

from fedpriv.cli import app
from fedpriv.config.plan import partition_id
from fedpriv.config.run import Run
from fedpriv.models import native
from fedpriv.train.inputs import write_partition

NAMED = "one line names it, before anything is trained; it stays as it is"


PARTITION = Fault("a partition", "train: of another law, under the right name", NAMED, names="seed0.npz")
ENGINE = Fault("another engine", "train: without the kernel that computed its state", NAMED, names="state")
FAULTS = [PARTITION, ENGINE]


def refused(capsys, fault):
    capsys.readouterr()
    assert app.main(TRAIN) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return fault.names in line and "allowed: " in line


def test_a_partition_of_another_law_is_not_trained_on(folder, capsys):
    run = Run.model_validate(PAPER["runs"]["private"])
    other = run.model_copy(update={"partition": run.partition.model_copy(update={"clients": 2})})
    dealt = Path("resources/partitions", partition_id(run), "seed0.npz")
    write_partition(other, 0, Path("resources/digits.npz"), dealt)
    before = dealt.read_bytes()
    assert refused(capsys, PARTITION)
    assert dealt.read_bytes() == before and not Path("out").exists()


def test_the_state_of_another_engine_is_kept_for_it(folder, undisturbed, capsys, monkeypatch):
    if not native.available("cnn5"):
        pytest.skip(native.why_not("cnn5"))
    kill = partial(die, SIGKILL)
    live(folder, partial(app.main, TRAIN), partial(at_call, "fedpriv.train.loop", "run_round", 5, kill))
    state = Path("out/resume/state.safetensors").read_bytes()
    with monkeypatch.context() as patch:
        patch.setenv("FEDPRIV_NATIVE", "0")
        assert refused(capsys, ENGINE)
    assert Path("out/resume/state.safetensors").read_bytes() == state
    assert app.main(TRAIN) == 0
    assert trained_in(folder) == trained_in(undisturbed)
