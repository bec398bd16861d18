"""Following a workflow: short on the screen, whole in the file, honest in its end."""

import os
import pty
import resource
import signal
import subprocess
import sys
from functools import partial

import pytest

from fedpriv.cli.follow import OVER

SAID = """
Job stats:
total     3
Job 1: » decoding digits
Reason: Missing output files
1 of 3 steps (33%) done
» training tiny plain seed 0
"""


def follow(folder, code, **options):
    command = [
        sys.executable,
        "-P",
        "-m",
        "fedpriv.cli.follow",
        folder / "kept/said.log",
        sys.executable,
        "-c",
        code,
    ]
    return subprocess.Popen(command, **{"stdout": subprocess.PIPE, "text": True, "cwd": folder} | options)


def test_a_line_says_what_begins_and_how_much_is_done(tmp_path):
    process = follow(tmp_path, f"print({SAID!r})")
    lines = process.communicate()[0].splitlines()
    assert process.returncode == 0
    assert [line.partition("]")[2] for line in lines[:2]] == [
        " decoding digits",
        " training tiny plain seed 0",
    ]
    assert [line[:5] for line in lines[:2]] == ["[0/3 ", "[1/3 "]
    assert lines[2:] == [f"All that Snakemake said: {tmp_path / 'kept/said.log'}"]


STEPS = "".join(f"» accounting tiny: run {run} of 3, about {3 - run} s left\n" for run in (1, 2, 3))


def test_a_step_of_many_runs_is_a_line_now_and_then(tmp_path):
    lines = (
        follow(tmp_path, f"print('total 1'); print({STEPS!r} + '» figures')").communicate()[0].splitlines()
    )
    assert [line.partition("] ")[2] for line in lines[:-1]] == [STEPS.splitlines()[0][2:], "figures"]


def test_at_a_terminal_a_step_of_many_runs_has_one_line_that_changes(tmp_path):
    terminal, end = pty.openpty()
    follow(tmp_path, f"print('total 1'); print({STEPS!r} + '» figures')", stdout=end).wait()
    lines = os.read(terminal, 10_000).decode().splitlines()
    assert [line.startswith(OVER) for line in lines] == [False, True, True, False, False]
    assert "run 3 of 3, about 0 s left" in lines[2] and lines[3].endswith("] figures")


def test_a_failed_job_is_told_with_the_end_of_its_log(tmp_path):
    (tmp_path / "train.log").write_text("\n".join(f"line {number}" for number in range(50)))
    said = "Error in rule train:\n    jobid: 3\n    log: train.log (check log file(s) for error details)\n"
    process = follow(tmp_path, f"print('total 3'); print({said!r}); raise SystemExit(1)")
    lines = process.communicate()[0].splitlines()
    assert process.returncode == 1
    assert lines[:2] == ["failed: train", "train.log:"]
    assert lines[2:-1] == [f"    line {number}" for number in range(30, 50)]


def test_what_ends_before_its_first_job_is_told_in_its_own_words(tmp_path):
    code = """raise SystemExit('BadInput: seed: unknown key\\n  File "Snakefile", line 1')"""
    process = follow(tmp_path, code)
    lines = process.communicate()[0].splitlines()
    assert "    BadInput: seed: unknown key" in lines
    assert not any(line.lstrip().startswith("File") for line in lines)
    assert process.returncode == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_lets_the_command_end_by_itself(tmp_path, number):
    """An interrupt reaches both, and so does the end of a terminal; SIGTERM the one that was started."""
    ending = "lambda *_: (print('» ending', flush=True), sys.exit(3))"
    code = (
        f"import signal, sys; [signal.signal(one, {ending}) for one in (signal.SIGINT, signal.SIGTERM)]; "
        "print('» working', flush=True); signal.pause()"
    )
    # Whoever runs the tests may be under nohup.
    minds = partial(signal.signal, signal.SIGHUP, signal.SIG_DFL)
    process = follow(tmp_path, code, start_new_session=True, preexec_fn=minds)
    assert process.stdout and "working" in process.stdout.readline()
    process.send_signal(number) if number == signal.SIGTERM else os.killpg(process.pid, number)
    rest = process.stdout.read()
    assert process.wait() == 128 + number and "ending" in rest
    assert rest.splitlines()[-1].startswith("interrupted after 0 of ? steps; the same command goes on")


def test_a_command_that_does_not_end_though_nothing_of_it_runs_is_killed_and_its_lock_given_back(tmp_path):
    code = (
        "import pathlib, signal, sys; sys.argv[1:] and sys.exit(pathlib.Path('unlocked').touch()); "
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('» working', flush=True)\n"
        "while True: signal.pause()"
    )
    process = follow(tmp_path, code, start_new_session=True)
    assert process.stdout and "working" in process.stdout.readline()
    os.killpg(process.pid, signal.SIGTERM)
    rest = process.communicate(timeout=60)[0]
    assert process.returncode == 128 + signal.SIGTERM and "interrupted after 0 of ? steps" in rest
    assert (tmp_path / "unlocked").exists()


def test_no_module_of_the_current_folder_is_run(tmp_path):
    (tmp_path / "yaml.py").write_text("raise SystemExit('run')")
    process = follow(tmp_path, "import yaml; print('» ' + yaml.__name__)")
    assert process.communicate()[0].splitlines()[0].endswith("] yaml") and process.returncode == 0


def test_where_nohup_says_so_the_end_of_a_terminal_stops_nothing(tmp_path):
    code = "import sys; print('» working', flush=True); input(); print('» done')"
    hushed = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = follow(tmp_path, code, start_new_session=True, stdin=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGHUP, hushed)
    assert process.stdout and "working" in process.stdout.readline()
    os.killpg(process.pid, signal.SIGHUP)
    rest = process.communicate("go on\n")[0]
    assert process.returncode == 0 and " done" in rest.splitlines()[0]


def test_a_second_one_is_refused_in_one_line_and_the_log_of_the_first_stays_whole(tmp_path):
    first = follow(tmp_path, "print('» one', flush=True); input(); print('two')", stdin=subprocess.PIPE)
    assert first.stdout and " one" in first.stdout.readline()
    second = follow(tmp_path, "open('begun', 'w')")
    (line,) = second.communicate()[0].splitlines()
    assert second.returncode == 2 and not (tmp_path / "begun").exists()
    log = tmp_path / "kept/said.log"
    assert line.startswith(f"{log}: found another workflow that writes it, process {first.pid}, allowed: one")
    first.communicate("go on\n")
    assert log.read_text().splitlines()[1:] == ["» one", "two"]
    third = follow(tmp_path, "print('of the third')")
    assert third.communicate() and third.returncode == 0
    assert log.read_text().splitlines()[1:] == ["of the third"]


def test_a_log_that_finds_no_room_is_said_once_and_what_is_followed_goes_on(tmp_path):
    """A limit on the size of files is the full disk."""
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (1000, 1000))
    code = "[print('x' * 100, flush=True) for _ in range(50)]; print('» it', flush=True); print('» end')"
    process = follow(tmp_path, code, preexec_fn=limit)
    lines = process.communicate()[0].splitlines()
    assert process.returncode == 0
    assert len(lines) == 4 and "said.log: File too large; the workflow" in lines[0]
    assert [line.partition("]")[2] for line in lines[1:3]] == [" it", " end"]


def test_a_screen_that_takes_nothing_more_does_not_stop_what_is_followed(tmp_path):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "fedpriv.cli.follow", tmp_path / "said.log", sys.executable, "-c"]
        code = "print('» one', flush=True); print('» two', flush=True); open('done', 'w')"
        done = subprocess.run([*command, code], stdout=full, cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "done").exists()
    assert (tmp_path / "said.log").read_text().splitlines()[1:] == ["» one", "» two"]


def test_what_begins_is_told_whatever_the_encoding_and_nothing_in_it_is_obeyed(tmp_path):
    for encoding in ("ascii", "latin-1", "utf-8"):
        environment = os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "LC_ALL": "C"}
        process = follow(tmp_path, r"print('total 1'); print('» ε \x1b[2J')", env=environment)
        shown = "ε" if encoding == "utf-8" else "\\u03b5"
        assert process.communicate()[0].splitlines()[0].endswith(f"] {shown} \\x1b[2J")
        assert process.returncode == 0
        assert (tmp_path / "kept/said.log").read_text(encoding="utf-8").endswith("» ε \x1b[2J\n")


def test_a_reader_who_has_gone_does_not_stop_what_is_followed(tmp_path):
    process = follow(
        tmp_path, "input(); print('total 1'); print('» it'); open('done', 'w')", stdin=subprocess.PIPE
    )
    process.stdout.close()
    process.stdin.write("go\n")
    process.stdin.close()
    assert process.wait() == 0 and (tmp_path / "done").exists()


@pytest.mark.parametrize("words", [["said.log", "no such command"], ["/dev/null/said.log", "true"]], ids=str)
def test_what_cannot_begin_is_one_line(tmp_path, words):
    command = [sys.executable, "-m", "fedpriv.cli.follow", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and not done.stderr and len(done.stdout.splitlines()) == 1
