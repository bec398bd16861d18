"""What is installed is enough: the wheel alone, in an empty folder, counts, attacks, draws and trains."""

import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import yaml

ROOT = Path(__file__).parents[1]
# What comes with extras only; accounting needs none of it.
EXTRAS = ("torch", "matplotlib", "pyarrow", "yaml", "snakemake", "safetensors", "sklearn")
TRACE = "unit,sampling_law,sampling_rate,noise_multiplier,releases\nclient,poisson,0.02,1.5,300\n"
PLAN = ["--sample-rate", ".3", "--rounds", "300", "--delta", "1e-3"]
COUNTED = [
    ["epsilon", *PLAN, "--sigma", "3", "--accountant", "all"],
    ["calibrate", *PLAN, "--epsilon", "8", "--accountant", "pld"],
    ["account", "trace.csv", "--delta", "1e-5"],
    ["audit", "trace.csv", "--delta", "1e-5"],
    ["--version"],
]
PAGE = (ROOT / "docs/accounting-alone.md").read_text(encoding="utf-8")
COUNTED += [shlex.split(words) for words in re.findall(r"^    fedpriv (.+)$", PAGE, re.MULTILINE)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel, without a network; return the folder that it is unpacked in."""
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as packed:
        packed.extractall(folder / "unpacked")
    return folder / "unpacked"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the traces of the page."""
    monkeypatch.delenv("FEDPRIV_MIRROR", raising=False)
    for name in re.findall(r"\w+\.csv", " ".join(word for words in COUNTED for word in words)):
        (tmp_path / name).write_text(TRACE)
    return tmp_path


def done(wheel: Path, here: Path, *commands: list[str], before: tuple[Path, ...] = ()) -> str:
    """Run the program of the wheel in a folder, once for all commands; return what it prints."""
    path = os.pathsep.join(map(str, [*before, wheel]))
    code = "import sys, fedpriv; from fedpriv.cli.app import main; "
    code += f"assert fedpriv.__file__.startswith(sys.argv[1]); sys.exit(any(map(main, {list(commands)})))"
    found = subprocess.run(
        [sys.executable, "-c", code, str(wheel)],
        cwd=here,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "src/fedpriv"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    package = {Path(file).relative_to("src") for file in listed.stdout.splitlines() if (ROOT / file).exists()}
    assert {".css", ".j2", ".mplstyle", ".py"} <= {file.suffix for file in package}
    assert not [file for file in package if not (wheel / file).exists()]
    assert not list(wheel.glob("tests*"))


def block(here: Path) -> Path:
    """Return a folder on the path of which nothing of an extra can be imported."""
    blocked = here / "blocked"
    for name in EXTRAS:
        (blocked / name).mkdir(parents=True)
        (blocked / name / "__init__.py").write_text(f"raise ModuleNotFoundError({name!r}, name={name!r})\n")
    return blocked


def test_accounting_needs_no_extra(wheel: Path, here: Path) -> None:
    blocked = block(here)
    told = done(wheel, here, *COUNTED, before=(blocked,))
    words = ("6.549", "noise multiplier", "replace_one", "lower bound", "(results version")
    assert all(word in told for word in words)


def test_without_an_extra_what_is_no_trace_is_told_as_what_it_is(wheel: Path, here: Path) -> None:
    blocked = block(here)
    (here / "x.json").write_text("{}")
    code = "import sys; from fedpriv.cli.app import main; sys.exit(main(sys.argv[1:]))"
    for verb in ("account", "audit"):
        found = subprocess.run(
            [sys.executable, "-c", code, verb, "x.json"],
            cwd=here,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [blocked, wheel]))},
            capture_output=True,
            text=True,
        )
        assert (found.returncode, found.stdout) == (2, "")
        assert found.stderr.startswith("fedpriv: x.json: found a file, allowed: a run directory")


def test_data_of_ones_own_are_trained_on_accounted_and_audited_and_a_trace_is_drawn(
    wheel: Path, here: Path
) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(240) % 3
    images = (rng.integers(0, 100, (240, 8, 8)) + 75 * labels[:, None, None]).astype(np.uint8)
    some = {"x_train": images[:200], "y_train": labels[:200], "x_test": images[200:], "y_test": labels[200:]}
    np.savez(here / "mine.npz", **some)
    run = {
        "dataset": {"npz": "mine.npz"},
        "partition": {"law": "iid", "clients": 10, "examples": 20},
        "model": "cnn",
        "scheme": {"name": "client_dp", "clip_l2": 1.0, "noise_multiplier": 1.0},
        "cohort": {"law": "poisson", "rate": 0.5},
        "rounds": 2,
        "account": {"delta": 1e-3},
    }
    paper = {"paper": "mine", "title": "Mine", "authors": ["Me"], "year": 2026, "url": "https://example.org"}
    paper["runs"] = {"dp": run}
    preset = {"preset": "own", "papers": ["mine"], "speed": {"device": "cpu", "threads": 1}}
    (here / "config/papers/mine").mkdir(parents=True)
    (here / "config/own.yaml").write_text(yaml.safe_dump(preset))
    (here / "config/papers/mine/paper.yaml").write_text(yaml.safe_dump(paper))
    train = ["run", "config/own.yaml", "--paper", "mine", "--run", "dp", "--out", "out"]
    told = done(wheel, here, train, ["account", "out"], ["audit", "out"])
    assert all(word in told for word in ("out: trained, accuracy", "pld", "outlier"))
