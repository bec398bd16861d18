import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.extras import PROJECT, needed_by

ROOT = Path(__file__).parents[1]


def test_without_extras_there_is_neither_torch_nor_snakemake():
    assert not {"torch", "torchvision", "snakemake"} & set(needed_by())
    assert "torch" in needed_by("train") and "snakemake" not in needed_by("train")
    assert "snakemake" in needed_by("workflow") and "torch" not in needed_by("workflow")


def test_make_help_names_every_target():
    makefile = (ROOT / "Makefile").read_text()
    (targets,) = re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    said = subprocess.run(["make", "-C", ROOT, "help"], capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"^make ([\w-]+)", said, re.MULTILINE)) == set(targets.split())


def test_a_python_that_is_too_old_is_told_before_anything_is_made(tmp_path):
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    old = tmp_path / "python3.10"
    said = "import sys; sys.version_info = (3, 10, 13); exec(sys.argv[1])"
    old.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{said}" "$2"\n')
    old.chmod(0o755)
    made = subprocess.run(
        ["make", "demo", f"PYTHON={old}", "UV="], cwd=tmp_path, capture_output=True, text=True
    )
    least = PROJECT["requires-python"].removeprefix(">=")
    assert made.returncode == 2 and f"found Python 3.10, allowed: {least} or later" in made.stderr
    assert not (tmp_path / ".venv").exists() and not made.stdout.startswith("1/3")


def test_a_clone_has_the_same_bytes_whatever_git_makes_of_the_ends_of_lines(tmp_path):
    shutil.copy(ROOT / ".gitattributes", tmp_path)
    files = {"a.csv": b"x,y\n1,2\n", "b.tex": b"\\x\n", "c.md": b"one\r\ntwo\n", "d": b"\x00\n"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    settings = "-c core.autocrlf=true -c core.eol=crlf -c user.name=x -c user.email=x@y.z"
    for words in ("init -q", "add .", "commit -qm x", "clone -q . there"):
        subprocess.run(["git", *settings.split(), *words.split()], cwd=tmp_path, check=True)
    assert {name: (tmp_path / "there" / name).read_bytes() for name in files} == files


@pytest.mark.parametrize(("torch", "uv"), [("cpu", True), ("cuda", False)])
def test_installing_says_each_stage_and_takes_wheels_without_cuda_where_asked(torch, uv, tmp_path):
    words = [f"TORCH={torch}", f"VENV={tmp_path}/venv", f"UV={'uv' if uv else ''}"]
    made = ["make", "--dry-run", "-C", ROOT, *words, f"{tmp_path}/venv/.installed"]
    lines = subprocess.run(made, capture_output=True, text=True, check=True).stdout.splitlines()
    lines = [line for line in lines if not line.startswith("make")]
    said = [line for line in lines if line.startswith("echo ")]
    assert [line.split()[1] for line in said] == ['"1/3', '"2/3', '"3/3'] and all(
        "MB" in one for one in said[1:]
    )
    pip = f"uv pip install --python {tmp_path}/venv/bin/python" if uv else "-m pip install"
    pytorch, others = (line for line in lines if pip in line)
    assert pytorch.endswith("--constraint constraints.txt torch torchvision")
    wheels = "--no-deps --index-url https://download.pytorch.org/whl/cpu"
    assert (wheels in pytorch) == (torch == "cpu") and wheels not in others
    assert others.endswith(
        "--editable '.[dev]' --editable packages/fedpriv-engines --editable packages/fedpriv-studies"
    )
    assert any(("uv venv" if uv else "-m venv") in line for line in lines)


@pytest.mark.parametrize(
    ("module", "never"),
    [
        ("fedpriv.config.plan", ["torch", "pandas", "matplotlib", "scipy.stats", "dp_accounting"]),
        (
            "fedpriv.data, fedpriv.partition",
            ["torch", "PIL", "kagglehub", "sklearn", "scipy", "pandas", "requests"],
        ),
        ("fedpriv.account", ["torch", "scipy.stats", "scipy.signal", "scipy.optimize", "dp_accounting"]),
        ("fedpriv.workflow.archive, fedpriv.workflow.rerender, fedpriv.workflow.steps", ["torch"]),
        ("fedpriv.workflow.rules", ["torch", "pandas", "pyarrow", "dp_accounting"]),
        ("fedpriv.report.tables", ["torch"]),
        ("fedpriv.report.figures", ["torch"]),
        ("fedpriv.report.claims", ["torch"]),
        ("fedpriv.cli.app", ["torch", "pandas", "numpy"]),
    ],
)
def test_what_must_start_fast_imports_nothing_heavy(module, never):
    code = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(never) & set(loaded.stdout.split())
