"""The programs of a workflow, `fedpriv` and `snakemake`, as forks of a server that has imported everything.

A step of a tiny paper takes a tenth of the time that its imports take. What stands in the folder of programs
hands its words, its folder, its environment and its streams to the server, and ends as the fork of it does.
"""

import json
import os
import signal
import sys
import tempfile
from functools import cache
from multiprocessing import process
from pathlib import Path
from socket import recv_fds
from socketserver import BaseRequestHandler, ForkingMixIn, UnixStreamServer

from snakemake import cli

from fedpriv.cli import app
from support.child import PROCESSES

KILLED = "FEDPRIV_TEST_KILLED"  # of the environment: the steps, with blanks between, that die as they begin
CLIENT = """#!{python} -IS
import json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [b"-"], [1, 2])
    server.sendall(json.dumps([*sys.argv, os.getcwd(), dict(os.environ)]).encode())
    server.shutdown(socket.SHUT_WR)
    code = server.recv(1)
os.kill(os.getpid(), signal.SIGKILL) if not code else sys.exit(code[0])
"""


@cache
def programs() -> Path:
    """Return the folder of the programs; their server ends with this process."""
    folder = Path(tempfile.mkdtemp(prefix="fedpriv-programs-"))
    address, started = str(folder / "server"), PROCESSES.Event()
    PROCESSES.Process(target=serve, args=(address, started), daemon=True).start()
    client = CLIENT.format(python=sys.executable, address=address)
    for name, text in {
        "fedpriv": client,
        "snakemake": client,
        "python": f'#!/bin/sh\nexec {sys.executable} "$@"\n',
    }.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    started.wait()
    return folder


class Server(ForkingMixIn, UnixStreamServer):
    """A fork for every request, as many as there are at a time."""

    max_children, request_queue_size = 100, 100


def serve(address, started) -> None:
    """Do what the clients ask for."""
    with Server(address, Handler) as server:
        started.set()
        server.serve_forever()


class Handler(BaseRequestHandler):
    """What a client asks for, done in its fork of the server."""

    def handle(self) -> None:
        _, streams, _, _ = recv_fds(self.request, 1, 2)
        for number, stream in enumerate(streams, start=1):
            os.dup2(stream, number)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
        with self.request.makefile("rb") as asked:
            program, *words, folder, environment = json.load(asked)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        process._parent_process = None  # progress is shown, as of a program that nobody has started in a part
        sys.executable = str(Path(program).with_name("python"))  # beside it a workflow finds its programs
        code = run(Path(program).name, words)
        sys.stdout.flush()
        sys.stderr.flush()
        self.request.sendall(bytes([code]))


def run(program: str, words: list[str]) -> int:
    """Return the exit code of a program."""
    if program == "fedpriv" and {*os.environ.get(KILLED, "").split()} & {*words[1:3]}:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        return app.main(words) if program == "fedpriv" else cli.main(words) or 0
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        return 1
