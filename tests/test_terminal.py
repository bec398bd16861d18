"""What is printed is seen and not obeyed, in any encoding, whoever reads it."""

import ast
import io
import sys
import unicodedata
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.nasty import NASTY, seen, together

import fedpriv
from fedpriv import progress as terminal
from fedpriv.errors import BadInput
from fedpriv.frozen import Frozen, parse
from fedpriv.progress import announce, print_stderr, progress, put, say, visible

HALF = "half \ud83e"  # of a letter: no encoding has it
OBEYED = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def obeyed(text):
    """Return the letters of a text that a terminal obeys, or no encoding has."""
    return {letter for letter in text if unicodedata.category(letter) in OBEYED}


@pytest.mark.parametrize("text", [*NASTY, HALF], ids=ascii)
def test_a_text_is_printed_in_one_line_as_it_is_seen(text, capsys):
    say(text, "next")
    print_stderr(text)
    said = capsys.readouterr()
    line, *rest = said.out.split("\n")
    assert together(line) == seen(text) and not obeyed(line) and rest == ["next", ""]
    assert said.err == f"{line}\n"


@given(st.text())
def test_what_is_visible_stays_and_nothing_else_does(text):
    shown = visible(text)
    assert not obeyed(shown) and visible(shown) == shown
    if text.isprintable():
        assert shown == text


@pytest.mark.parametrize("text", [*NASTY, HALF], ids=ascii)
def test_an_error_about_any_key_or_value_is_one_visible_line(text):
    class Model(Frozen):
        known: Literal["never"] = "never"

    for found in ({text: 1}, {"known": text}):
        with pytest.raises(BadInput) as refused:
            parse(Model.model_validate, found, f"folder/{text}.yaml")
        assert not obeyed(str(refused.value)) and seen(f"folder/{text}.yaml") in together(str(refused.value))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_what_an_encoding_has_no_letter_for_is_spelt_out(encoding):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    put("δ 漢 🦊", stream)
    assert stream.buffer.getvalue() == rb"\u03b4 \u6f22 \U0001f98a" + b"\n"


def test_the_title_of_a_bar_and_of_a_plain_line_are_seen(capsys, monkeypatch):
    with progress("a\x1b[2Jb [red]c", 0, 1) as report:
        report({"round": 1, "test_accuracy": 0.5})
    announce("a\x1b[2Jb [red]c")
    said = capsys.readouterr()
    assert said.err == "a\\x1b[2Jb [red]c: round 1 of 1, accuracy 0.500\n"
    assert said.out == "» a\\x1b[2Jb [red]c\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    with progress("a\x1b[2Jb [red]c", 0, 1):
        pass
    assert "a\\x1b[2Jb [red]c" in capsys.readouterr().err


def test_nothing_is_printed_past_the_one_place():
    package = Path(fedpriv.__file__).parent
    printing = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Name) and node.id == "print")
        or (isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout.write", "sys.stderr.write"))
    }
    assert printing == {Path(terminal.__file__).relative_to(package).as_posix()}
