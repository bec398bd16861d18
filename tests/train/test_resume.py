"""A resumed run ends with the same bits: wherever its state lies, whatever its scheme, on its own engine."""

import errno
import re
import shutil
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from support.made_run import BY_SCHEME, RUN, go, result

from fedpriv.config.run import Run
from fedpriv.errors import BadInput
from fedpriv.local.work import Speed
from fedpriv.store import summary
from fedpriv.store.machine import engines
from fedpriv.store.rundir import RunDir, keep_outputs, restore_outputs
from fedpriv.store.summary import FILES
from fedpriv.train import checkpoint, inputs, loop

WITH_MEMORY = BY_SCHEME | {
    "adam": {"server": {"optimizer": "adam", "learning_rate": 0.01}},
    "average": {"server": {"averaging": 0.5}},
}
if "dp_ftrl" in BY_SCHEME:
    WITH_MEMORY["blt"] = BY_SCHEME["dp_ftrl"] | {"scheme": BY_SCHEME["dp_ftrl"]["scheme"] | {"matrix": "blt"}}


ENGINES = engines()


class Killed(Exception):
    """In the place of a signal, where it need not be a real one."""


@pytest.fixture
def killed(monkeypatch):
    """Return what trains a run and kills it before a round, with a state of the round before."""

    def killed_before(round_number, run, files, out, **speed):
        advance = loop.run_round

        def stopped(*arguments):
            if arguments[4].round == round_number - 1:
                raise Killed
            return advance(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(loop, "run_round", stopped)
            with pytest.raises(Killed):
                go(run, files, out, checkpoint_every=1, **speed)
        return out / "resume/state.safetensors"

    return killed_before


class Laid:
    """A file of tensors that lie, when they are read, `offset` bytes after a multiple of 64."""

    def __init__(self, path, offset):
        self.file, self.offset = safe_open(path, framework="pt"), offset

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def metadata(self):
        return self.file.metadata()

    def keys(self):
        return self.file.keys()

    def get_tensor(self, name):
        tensor = self.file.get_tensor(name)
        size = tensor.element_size()
        room = torch.empty(tensor.numel() * size + 128, dtype=torch.uint8)
        start = -room.data_ptr() % 64 + self.offset // size * size
        there = room[start : start + tensor.numel() * size].view(tensor.dtype).view(tensor.shape)
        return there.copy_(tensor)


@pytest.mark.parametrize("scheme", WITH_MEMORY)
def test_a_run_of_any_scheme_goes_on_to_the_same_bits_wherever_its_state_lies(
    scheme, files, tmp_path, killed, monkeypatch
):
    run = RUN | WITH_MEMORY[scheme]
    undisturbed = result(go(run, files, tmp_path / "undisturbed"))
    saved = killed(3, run, files, tmp_path / "killed")
    for offset in (0, 4, 32):  # how far vectors of 64, 32 and 16 bytes are off
        out = tmp_path / f"at{offset}"
        shutil.copytree(saved.parents[1], out)
        with monkeypatch.context() as patch:
            patch.setattr(checkpoint, "safe_open", lambda path, framework, at=offset: Laid(path, at))
            assert result(go(run, files, out)) == undisturbed, offset


@pytest.mark.parametrize("speed", [{"dtype": "bfloat16"}, {}], ids=["dtype", "cnn5"])
def test_the_state_of_another_engine_is_refused_and_left_there(speed, files, tmp_path, killed, monkeypatch):
    run = RUN
    if speed:  # which the engines in C do not depend on
        monkeypatch.setenv("FEDPRIV_NATIVE", "0")
    saved = killed(3, run, files, tmp_path / "run")
    before = saved.read_bytes()
    if not speed:
        if not ENGINES or ENGINES.why_not():
            pytest.skip("there is one engine only: no package, or no compiler")
        monkeypatch.setenv("FEDPRIV_NATIVE", "0")
    with pytest.raises(
        BadInput, match=r"state\.safetensors: found a state computed by torch .*; go on"
    ) as told:
        go(run, files, tmp_path / "run", **speed)
    assert len(str(told.value).splitlines()) == 1
    assert saved.read_bytes() == before
    saved.unlink()
    assert RunDir(go(run, files, tmp_path / "run", **speed)).summary


def test_a_summary_names_the_engine_and_so_its_kernels(files, tmp_path, monkeypatch):
    def engine(name):
        return summary.load_summary(go(RUN, files, tmp_path / name) / "summary.json")["environment"]["engine"]

    with_kernels = engine("with")
    monkeypatch.setenv("FEDPRIV_NATIVE", "0")
    without = engine("without")
    assert f"torch {torch.__version__}" in without and "float32, 100 examples a pass" in without
    assert "cnn5" not in without
    assert not ENGINES or ENGINES.why_not() or re.search("cnn5 [0-9a-f]{8}", with_kernels)


OURS = (".trace.0a1b2c3d.parquet", ".model.00000000.safetensors", "resume/.state.12345678.safetensors")
NOT_OURS = (".env.local", ".config.d/settings", ".trace.old.parquet", ".trace.0a1b2c3d.csv", "resume/cv.pdf")
NOT_OURS += ("resume/.state.backup.safetensors", "resume/deep/letter.txt")


def test_a_run_removes_its_own_torn_files_and_no_file_of_anybody_else(files, tmp_path):
    out = tmp_path / "run"
    for name in (*OURS, *NOT_OURS):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(name)
    go(RUN, files, out)
    assert not any((out / name).exists() for name in OURS)
    assert all((out / name).read_text() == name for name in NOT_OURS)


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_somebody_else_is_not_written_over(name, files, tmp_path):
    out = tmp_path / "run"
    out.mkdir()
    (out / name).write_text("mine")
    with pytest.raises(BadInput, match=f"{name}: found a file that is not what training writes"):
        go(RUN, files, out)
    assert [path.name for path in out.iterdir()] == [name]
    assert (out / name).read_text() == "mine"


@pytest.mark.parametrize(
    ("place", "put"),
    [("resume", Path.touch), ("resume/lock", Path.mkdir), ("trace.parquet", Path.mkdir)],
    ids=lambda one: one if isinstance(one, str) else one.__name__,
)
def test_what_stands_in_the_way_is_named_before_anything_is_trained(place, put, files, tmp_path, monkeypatch):
    out = tmp_path / "run"
    (out / place).parent.mkdir(parents=True)
    put(out / place)
    monkeypatch.setattr(loop, "run_round", None)
    with pytest.raises(BadInput, match=f"{place}: .*, allowed: "):
        go(RUN, files, out)
    assert (out / place).exists()


@pytest.mark.parametrize(("name", "left"), [*zip(FILES, (0, 100) * len(FILES), strict=False)])
def test_a_finished_run_with_a_file_that_was_cut_is_not_said_to_be_finished(name, left, files, tmp_path):
    out = go(RUN, files, tmp_path / "run")
    with (out / name).open("r+b") as file:
        file.truncate(left)
    with pytest.raises(BadInput, match=f"{name}: found"):
        go(RUN, files, out)
    (out / name).unlink()
    assert RunDir(go(RUN, files, out)).summary


@pytest.mark.parametrize(
    ("changes", "seed"),
    [({"partition": {"law": "iid", "clients": 2}}, 0), ({"validation": 8}, 0), ({}, 1)],
    ids=str,
)
def test_a_partition_of_another_law_or_seed_is_not_trained_on(changes, seed, files, tmp_path):
    run, other = (Run.model_validate(one) for one in (RUN, RUN | changes))
    dealt = inputs.write_partition(other, seed, files, tmp_path / "dealt.npz")
    with pytest.raises(BadInput, match=r"dealt\.npz: found the partition .*; delete it and rerun"):
        loop.train(run, "tiny", 0, files, dealt, tmp_path / "run", Speed(device="cpu"), {})
    assert not (tmp_path / "run").exists()


def test_a_finished_run_is_kept_on_another_file_system_and_put_back_from_there(files, tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(errno.EXDEV, "another file system")

    out, kept = go(RUN, files, tmp_path / "run"), tmp_path / "elsewhere/resume"
    identity, said = RunDir(out).summary["identity"], result(out)
    monkeypatch.setattr("os.link", refused)
    keep_outputs(out, kept)
    shutil.rmtree(out)
    assert restore_outputs(out, kept, identity, {})
    assert RunDir(out).holds(identity) and result(out) == said
    assert not restore_outputs(out, kept, "another", {})
