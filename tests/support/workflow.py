"""A workflow of one tiny paper: what Snakemake plans, and what is written for it to read."""

import os
import re
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryFile

import yaml
from snakemake import cli

from support.programs import programs
from support.tiny_paper import tiny_paper, write_preset

ROOT = Path(__file__).parents[2]
PAPER = tiny_paper(
    "tiny",
    {
        "plain": {"scheme": "none", "probe": {"clients": 0}},
        "private": {
            "scheme": {"name": "client_dp", "clip_l2": 0.5, "noise_multiplier": 2.0},
            "probe": {"clients": 4, "panel": 4},
        },
        "unused": {"scheme": "none"},
    },
    defaults={
        "dataset": "mnist",
        "model": {"name": "cnn", "widths": [2, 2, 4]},
        "partition": {"law": "iid", "clients": 10, "examples": 20},
        "cohort": {"law": "poisson", "rate": 0.5},
        "rounds": 2,
        "account": {"delta": 1e-3},
    },
)
PRESET = {
    "preset": "test",
    "papers": ["tiny"],
    "seeds": 2,
    "only": ["p*"],
    "substitutes": {"mnist": "digits"},
    "speed": {"device": "cpu", "threads": 1},
}


RENDER = {"collect": 1, "tables_tiny": 1, "figures_tiny": 1, "report": 1}  # jobs


def snakemake(*arguments, cwd=ROOT, check=True):
    """Run Snakemake on the project's Snakefile in folder `cwd`; return what it printed.

    It runs in a fork of this process: to import it costs more than a dry run. Its steps are forks, too.
    """
    command = ["--snakefile", ROOT / "Snakefile", "--directory", cwd, *arguments]
    python = sys.executable if "--dry-run" in arguments else str(programs() / "python")
    with TemporaryFile("w+", encoding="utf-8") as said:
        if not (child := os.fork()):
            _live(list(map(str, command)), said, python)
        _, status = os.waitpid(child, 0)
        said.seek(0)
        text = said.read()
    assert not check or status == 0, text
    return text


def _live(command, said, python):
    code = 1
    try:
        sys.executable = python  # beside it the workflow finds the program
        for stream in (1, 2):
            os.dup2(said.fileno(), stream)
        sys.stdout, sys.stderr = (os.fdopen(stream, "w", closefd=False) for stream in (1, 2))
        os.chdir(ROOT)
        os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        cli.main(command)
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code)


def planned(*arguments, cwd):
    """Return how often each rule would run."""
    return jobs_in(snakemake("--dry-run", *arguments, cwd=cwd))


def jobs_in(said):
    """Return how often each rule would run, by what Snakemake printed; `settings` make no result."""
    if "Nothing to be done" in said:
        return {}
    (stats,) = re.findall(r"Job stats:\njob +count\n[- ]+\n(.+?)\ntotal", said, re.DOTALL)[:1]
    jobs = {rule: int(count) for rule, count in (line.split() for line in stats.splitlines())}
    made = {rule: count for rule, count in jobs.items() if rule not in ("all", "settings")}
    assert made, "settings alone are no reason to do anything"
    return made


def kinds(jobs):
    """Return the jobs by the first word of their rule: `train_tiny_seed0_0` is a `train`."""
    found = Counter()
    for rule, count in jobs.items():
        found[rule.partition("_")[0]] += count
    return found


def write_config(folder, paper=None, preset=None):
    """Write the tiny paper and its preset into `folder`, with some keys changed."""
    write_preset(folder, PRESET | (preset or {}), paper or PAPER)
    return ("--configfile", str(folder / "config/test.yaml"))


def changed(path, value):
    """Return the tiny paper with the value at `path` replaced."""
    paper = yaml.safe_load(yaml.safe_dump(PAPER))
    level = paper
    for key in path[:-1]:
        level = level[key]
    level[path[-1]] = value
    return paper
