"""A run is what its content says, whatever it is called, and nothing of another run is written over."""

import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest
from support.tiny import PRESET, contents, write

from fedpriv.cli import app
from fedpriv.errors import BadInput
from fedpriv.store import npz, rundir
from fedpriv.store.rundir import RunDir
from fedpriv.store.summary import stored_files

RUNS, REFERENCE = Path("results/tiny/tiny/runs/dp"), Path("results/reference")
RUN = ("run", "config/tiny.yaml", "--paper", "tiny", "--run", "dp", "--out", "out")


@pytest.fixture
def kept(here):
    """Two stored runs and nothing that was trained; the first file of the two."""
    assert app.main(["keep", "results/tiny"]) == 0
    shutil.rmtree("results/tiny")
    (REFERENCE / "tiny/tiny/tables").mkdir(parents=True)
    return stored_files(REFERENCE)[0]


def said(path, **changes):
    one = rundir.read_stored(path)
    rundir.write_stored(path, one._replace(summary=one.summary | changes))


def noisier(path):
    config = json.loads(json.dumps(rundir.stored_summary(path)["config"]))
    config["scheme"]["noise_multiplier"] = 9.0
    said(path, config=config)


SPOILT = {
    "another seed": lambda path: shutil.copyfile(stored_files(REFERENCE)[1], path),
    "another config": noisier,
    "a pointer of Git LFS": lambda path: path.write_text("version https://git-lfs.github.com/spec/v1\n"),
}
VERBS = {
    "run": RUN,
    "take": ("step", "take", "config/tiny.yaml", "tiny", "dp/0"),
    "compare": ("compare", "FILE", "FILE"),
    "account": ("account", "FILE"),
    "audit": ("audit", "FILE"),
    "keep": ("keep", "results/tiny"),
    "rerender": ("rerender", "--out", "new"),
}


@pytest.mark.parametrize(
    ("spoilt", "verb"),
    [(one, "run") for one in SPOILT] + [("another seed", one) for one in VERBS if one != "run"],
)
def test_a_stored_run_that_is_not_what_it_is_called_is_named_by_every_verb(spoilt, verb, kept, fedpriv):
    SPOILT[spoilt](kept)
    Path("results/tiny").mkdir()
    before = contents(REFERENCE)
    code, _, err = fedpriv(*(str(kept) if word == "FILE" else word for word in VERBS[verb]))
    assert (
        code == 2
        and err[-1].count(kept.name) >= 1
        and f"`git checkout -- {kept}" in err[-1].replace(f"{Path.cwd()}/", "")
    )
    assert contents(REFERENCE) == before and not Path("out").exists()


def test_what_has_no_name_of_a_stored_run_is_none(kept, fedpriv):
    shutil.copyfile(kept, kept.with_name(f"{kept.stem} (copy).parquet"))
    os.mkfifo(kept.with_name("seed3-0123456789abcdef.parquet"))
    code, out, err = fedpriv("list", "runs", "--json")
    assert (code, err) == (0, []) and [0, 1] in [
        run["seeds stored"] for run in json.loads("".join(out))["runs"]
    ]
    with pytest.raises(BadInput, match=r"seed3-\w+\.parquet: found an unreadable file"):
        _ = RunDir(kept.with_name("seed3-0123456789abcdef.parquet")).summary


def test_every_stored_run_in_git_is_what_it_is_called():
    paths = stored_files(Path(__file__).parents[2] / REFERENCE)
    assert len(paths) > 1000
    for path in paths:
        assert RunDir(path).summary["identity"] in path.name


@pytest.mark.parametrize(
    ("verb", "name"),
    [(verb, "trace.parquet") for verb in ("account", "audit", "keep", "run")]
    + [("account", "distances.npz"), ("run", "model.safetensors")],
)
def test_a_mixture_of_two_runs_is_refused(name, verb, here, fedpriv):
    shutil.copyfile(RUNS / "seed1" / name, RUNS / "seed0" / name)
    words = {"keep": ("keep", "results/tiny"), "run": (*RUN[:-1], RUNS / "seed0")}
    code, _, (line,) = fedpriv(*words.get(verb, (verb, RUNS / "seed0")))
    assert code == 2 and f"seed0/{name}: found a file of another run" in line


@pytest.mark.parametrize(("gone", "how"), [("distances.npz", "trained"), ("trace.parquet", "taken")])
def test_what_is_left_of_a_run_of_another_config_stays(gone, how, here, fedpriv):
    assert fedpriv("keep", "results/tiny")[0] == 0
    out = Path(shutil.copytree(RUNS / "seed1", "out"))
    (out / gone).unlink()
    before = contents(out)
    code, _, (line,) = fedpriv(*RUN, *(["--set", "rounds=3"] if how == "trained" else []))
    assert code == 2 and line.startswith("fedpriv: out: found the finished run of another config, ")
    assert contents(out) == before


@pytest.mark.parametrize("name", ["trace.parquet", "summary.json"])
def test_what_somebody_has_in_resume_stays(name, here, fedpriv):
    mine = Path("out/resume", name)
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    assert fedpriv(*RUN)[0] == 0 and mine.read_text() == "mine"


def test_arrays_are_those_of_the_dataset_that_they_are_called(here, fedpriv):
    shutil.copyfile("resources/digits.npz", "resources/mnist.npz")
    code, _, (line,) = fedpriv(*RUN, "--set", "dataset=mnist")
    assert code == 2 and "resources/mnist.npz: found the arrays of digits, allowed: of mnist" in line


def test_a_member_that_is_no_array_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "own.npz", "w") as file:
        file.writestr("x_train.npy", "garbage")
    with pytest.raises(BadInput, match=r"own\.npz: found an unreadable file \(x_train is no array"):
        npz.load_all(tmp_path / "own.npz", "arrays", ours=False)


@pytest.mark.parametrize(
    ("setting", "found"),
    [
        ("scheme={noise_multiplier: 1.0, noise_multiplier: 0.1}", "noise_multiplier twice"),
        ("rounds=010", "found 010"),
        ("model=" + "[" * 3000, "--set: model"),
    ],
)
def test_what_is_set_is_read_as_files_are(setting, found, here, fedpriv):
    code, _, (line,) = fedpriv(*RUN, "--set", setting)
    assert code == 2 and found in line


def test_two_configs_that_share_a_folder_to_resume_from_lose_nothing(here, fedpriv, monkeypatch):
    from fedpriv.train import loop

    monkeypatch.setenv("FEDPRIV_RESUME", str(here / "shared"))
    write(here / "config/tiny.yaml", PRESET | {"speed": {**PRESET["speed"], "checkpoint_every": 1}})
    (dealt,) = Path("resources/partitions").iterdir()
    assert fedpriv("step", "partition", "config/tiny.yaml", "0", dealt.name)[0] == 0
    shutil.rmtree(RUNS)
    train = ("step", "train", "config/tiny.yaml", "tiny", "dp/0")
    advance = loop.run_round

    def ended(*arguments):
        if arguments[4].round == 1:
            raise OSError("ended")
        return advance(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "run_round", ended)
        assert fedpriv(*train)[0] == 1
    (state,) = Path("shared").rglob("state.safetensors")
    before = state.read_bytes()
    code, _, (*_, line) = fedpriv(*train, "--set", 'patches={"*": {rounds: 3}}')
    assert code == 2 and "found the saved state of another config" in line and state.read_bytes() == before
    assert fedpriv(*train)[0] == 0
