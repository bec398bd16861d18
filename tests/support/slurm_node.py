"""A real Slurm of one node with a stand-in GPU, all of it in one folder: no systemd, no system files."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from support.background import wait

TOGETHER = ("setpriv", "--pdeathsig", "TERM")  # ends a process when the one that started it was killed
PROGRAMS = ("setpriv", "munged", "slurmctld", "slurmd", "sinfo", "sbatch", "srun", "squeue", "scancel")
# Daemons are not on everybody's PATH.
PATH = os.pathsep.join((os.environ["PATH"], "/usr/sbin", "/sbin"))
CONF = """
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=2,bf_interval=5
MpiDefault=none
KillWait=2
MinJobAge=3600
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={mebibytes} Gres=gpu:1 State=UNKNOWN
PartitionName=gpu Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> list[str]:
    """Return the programs of those needed that this machine lacks."""
    return [program for program in PROGRAMS if shutil.which(program, path=PATH) is None]


@contextmanager
def one_node(folder: Path) -> Iterator[dict[str, str]]:
    """Start munge and Slurm in `folder`; yield the environment in which its commands find it.

    The path of `folder` is short: it holds a socket. However the block ends, the jobs are cancelled and the
    daemons gone after it. Raises TimeoutError naming the logs when the node is not ready in half a minute.
    """
    for name in ("munge", "state", "spool", "bin"):
        (folder / name).mkdir(mode=0o711)  # munge refuses a key where others may write
    key = folder / "munge/key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(1024))
    write_conf(folder)
    write_srun(folder / "bin/srun", folder / "slurm.conf")
    environment = os.environ | {"PATH": f"{folder}/bin:{PATH}", "SLURM_CONF": f"{folder}/slurm.conf"}
    start = partial(daemon, folder=folder, environment=environment)
    files = [f"--{name}-file={folder}/munge/{name}" for name in ("key", "pid", "log", "seed")]
    with ExitStack() as stack:
        stack.enter_context(
            start("munged", "--foreground", "--force", f"--socket={folder}/munge/socket", *files)
        )
        wait((folder / "munge/socket").exists, f"{folder}/munged.log")
        stack.enter_context(start("slurmctld", "-D"))
        stack.enter_context(start("slurmd", "-D"))
        logs = f"{folder}/slurmctld.log, {folder}/slurmd.log"
        wait(lambda: asked("sinfo", "--noheader", "--format=%t", env=environment) == "idle", logs)
        try:
            yield environment
        finally:
            asked("scancel", f"--user={os.getuid()}", env=environment)
            with suppress(TimeoutError):
                wait(lambda: not jobs(environment, "--states=RUNNING,COMPLETING"), logs)


def write_conf(folder: Path) -> None:
    """Write the configuration of the node; its GPU is /dev/zero, of which Slurm gives away one."""
    host = socket.gethostname().split(".")[0]
    mebibytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 8 // 10 // 2**20
    text = CONF.format(
        host=host,
        folder=folder,
        user=asked("id", "--user", "--name"),
        controller=free_port(),
        daemon=free_port(),
        cpus=os.cpu_count(),
        mebibytes=mebibytes,
    )
    (folder / "slurm.conf").write_text(text)
    (folder / "gres.conf").write_text(f"NodeName={host} Name=gpu File=/dev/zero\n")


def write_srun(path: Path, conf: Path) -> None:
    """Write an `srun` that finds its node: Snakemake drops SLURM_CONF before it starts a step of a job."""
    path.write_text(f'#!/bin/sh\nSLURM_CONF={conf} exec {shutil.which("srun", path=PATH)} "$@"\n')
    path.chmod(0o755)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextmanager
def daemon(name: str, *arguments: str, folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """Run a daemon that stays in the foreground of its own process; end it after the block."""
    command = [*TOGETHER, name, *arguments]
    with (folder / f"{name}.log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def asked(*command: str, env: dict[str, str] | None = None) -> str:
    """Return what a command prints, or the empty string where it fails."""
    return subprocess.run(command, env=env, capture_output=True, text=True).stdout.strip()


class Job(NamedTuple):
    """What Slurm knows about a submission."""

    id: str
    state: str
    memory: str  # as `4000M`
    limit: str  # as `5:00`, in minutes and seconds
    gpus: str  # as `gpu:1`
    comment: str  # in which Snakemake names the rules


def jobs(environment: dict[str, str], *which: str) -> list[Job]:
    """Return the jobs that `squeue` shows with the options `which`, the first submitted first."""
    columns = "--Format=JobID:|,State:|,MinMemory:|,TimeLimit:|,tres-per-job:|,Comment:"
    lines = asked("squeue", "--noheader", "--sort=i", columns, *which, env=environment).splitlines()
    return [Job(*(field.strip() for field in line.split("|"))) for line in lines]
