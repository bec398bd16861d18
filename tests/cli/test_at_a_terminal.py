"""The program at a terminal: its encoding, who reads it, and what ends it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.tiny import PAPER, PLAN, PRESET, RUN, write

from fedpriv import doctor
from fedpriv.train import loop

ASCII = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}


def program(*words, **options):
    command = [sys.executable, "-m", "fedpriv", *words]
    return subprocess.run(
        command, **{"capture_output": True, "text": True, "env": os.environ | ASCII} | options, check=False
    )


def test_a_terminal_that_knows_ascii_only_is_told_all():
    done = program("epsilon", *PLAN)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("\\u03b5 = ") and done.stdout.isascii()


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("\x1b[31mseeds", "'\\x1b[31mseeds': unknown key"),
        ("a\n\nb", "'a\\n\\nb': unknown key"),
        ("\u202esdees", "'\\u202esdees': unknown key"),
        ("\x9b", "'\\x9b': unknown key"),
    ],
    ids=ascii,
)
def test_a_key_that_a_terminal_would_obey_is_seen_in_the_one_line_about_it(key, shown, refused, here):
    write(here / "config/tiny.yaml", PRESET | {key: 1})
    assert shown in refused(*RUN)


def test_a_word_of_the_command_line_is_seen_too(refused):
    assert "'\\x1b[2J\\x07'" in refused("fetch", "\x1b[2J\x07")
    assert "half \\udcff" in refused("fetch", "half \udcff")  # a byte that was no UTF-8


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", " https://x.org", "https://x\u202e.org", "ftp://x.org", "https://"]
)
def test_a_link_that_is_none_of_the_web_is_refused_when_the_paper_is_read(url, refused, here):
    write(here / "config/papers/tiny/paper.yaml", PAPER | {"url": url})
    line = refused(*RUN)
    assert "config/papers/tiny/paper.yaml: url: found" in line and "http" in line


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_reader_who_has_gone_is_no_failure(stream):
    reading, writing = os.pipe()
    os.close(reading)
    bad = [] if stream == "stdout" else ["-q", "2"]
    done = program(
        "epsilon", *PLAN, *bad, **{"capture_output": False, "stdout": -1, "stderr": -1, stream: writing}
    )
    os.close(writing)
    assert done.returncode == (2 if bad else 0)
    assert not done.stdout and not done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_result_that_is_lost_on_a_full_disk_is_a_failure_in_one_line():
    with Path("/dev/full").open("w") as full:
        done = program("epsilon", *PLAN, capture_output=False, stdout=full, stderr=-1)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and "No space left" in done.stderr


def interrupted(*_):
    raise KeyboardInterrupt


def test_a_verb_that_is_interrupted_says_how_it_goes_on(fedpriv, monkeypatch):
    for module, name, words, what in (
        (loop, "train", RUN, "goes on from the last saved round"),
        (doctor, "diagnose", ["doctor"], "starts anew"),
    ):
        monkeypatch.setattr(module, name, interrupted)
        said = f"fedpriv {words[0]}: interrupted; the same command {what}"
        assert fedpriv(*words) == (130, [], [said])
