"""The template package of examples/, installed beside this one; nothing of it is in the project."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.workflow import jobs_in, kinds

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "examples/fedpriv-template"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Install the template, without a network, where nobody else looks; return the environment that does."""
    place = tmp_path_factory.mktemp("installed")
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check"]
    source = tmp_path_factory.mktemp("source") / "template"
    subprocess.run(["cp", "-r", TEMPLATE, source], check=True)  # a build leaves files in its source
    pip = [sys.executable, "-m", "pip", "install", *offline, "--target", place, source]
    subprocess.run(list(map(str, pip)), check=True)
    return {"PYTHONPATH": os.pathsep.join([str(place), str(ROOT / "src")])}


def test_its_own_tests_pass_where_it_is_installed(installed, tmp_path):
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "--rootdir", TEMPLATE, TEMPLATE / "tests"]
    done = subprocess.run(
        [*map(str, command), "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env=os.environ | installed | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_workflow_plans_its_paper_with_its_data(installed, tmp_path):
    where = [
        "--snakefile",
        ROOT / "Snakefile",
        "--directory",
        tmp_path,
        "--configfile",
        TEMPLATE / "preset.yaml",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--dry-run", *map(str, where)],
        cwd=ROOT,
        env=os.environ | installed,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    jobs = kinds(jobs_in(done.stdout + done.stderr))
    assert jobs["arrays"] == jobs["partition"] == jobs["train"] == jobs["tables"] == 1
