"""The workflow as a whole: killed, told to stop, started twice on one folder.

Its training is held at its first state by an audit hook that every Python process of the workflow imports,
so that nothing here depends on how fast the machine is.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.small import state_in, trained_in

ROOT = Path(__file__).parents[2]
SRC = Path(__import__("fedpriv").__file__).parents[1]
TRACE = "results/small/small/runs/private/seed0/trace.parquet"
RUN = Path(TRACE).parent
HOLD = """
import os, sys
def hear(event, arguments):
    if event == "os.rename" and os.path.basename(arguments[1]) == os.environ.get("HELD"):
        del os.environ["HELD"]  # held once
        with open("arrived", "w") as said:
            said.write(str(os.getpid()))
        open("go").close()
sys.addaudithook(hear)
"""


@pytest.fixture
def start(folder):
    """Start the workflow in the current folder, held where a file gets the name `held`."""
    (folder / "hook").mkdir()
    (folder / "hook/sitecustomize.py").write_text(HOLD)
    for name in ("arrived", "go"):
        os.mkfifo(folder / name)
    command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--configfile"]
    started = []

    def one(*arguments, held=""):
        workflow = subprocess.Popen(
            [*map(str, command), "config/small.yaml", "--cores", "1", *arguments],
            env=os.environ | {"PYTHONPATH": f"hook{os.pathsep}{SRC}", "HELD": held},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )
        started.append(workflow)
        return workflow

    yield one
    for workflow in started:
        with contextlib.suppress(ProcessLookupError):  # nobody of it is left
            os.killpg(workflow.pid, signal.SIGKILL)


def finish(workflow):
    """Wait for the end of a workflow; return its exit code and what it printed."""
    said, _ = workflow.communicate()
    return workflow.returncode, said


def arrival(workflow):
    """Wait until the workflow is held; return the process that is."""
    hole = os.open("arrived", os.O_RDONLY | os.O_NONBLOCK)
    gone = os.pidfd_open(workflow.pid)
    select.select([hole, gone], [], [])
    os.set_blocking(hole, True)
    with os.fdopen(hole) as said:
        os.close(gone)
        return int(said.read())


def test_a_warning_to_all_processes_of_a_workflow_saves_the_round_of_its_training(folder, start, undisturbed):
    warned = start(TRACE, held="state.safetensors")  # in round 2
    training = arrival(warned)
    os.killpg(warned.pid, signal.SIGTERM)
    parent = Path(f"/proc/{training}/stat").read_text().split()[3]
    assert int(parent) == warned.pid  # no shell between them, which would die of it
    (folder / "go").write_text("")
    code, said = finish(warned)
    log = Path("logs/small/small/train/private/seed0.log").read_text()
    assert code != 0 and "3 of 5 rounds are saved; stopped by SIGTERM" in log, said + log
    state = state_in(RUN / "resume/state.safetensors")
    assert state and state.round == 3
    code, said = finish(start(TRACE))
    assert code == 0, said
    assert trained_in(folder, RUN) == trained_in(undisturbed)
