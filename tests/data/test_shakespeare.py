"""Plays in the format of the Complete Works of 1994, of our own making."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from fedpriv import data
from fedpriv.cli.app import main
from fedpriv.data import arrays, shakespeare
from fedpriv.errors import BadInput

ROOT = Path(__file__).parents[2]
HEAD = """***A first line that nobody reads***
The contents: Two Plays by William Shakespeare
  Contents. are no role

1611

THE TEMPEST IN A TEACUP

by William Shakespeare

DRAMATIS PERSONAE

  A waiter, who serves
"""
SPEECHES = """
ACT I. SCENE 1.
A terrace

                  Enter GUEST

  Guest. The cup is   full, the spoon is in it; stir
    and see what weather comes of it!
                                                 Exit
    I hear it roar.
<<A NOTICE THAT NOBODY SPEAKS>>
  WAITER. No storm is in it,
  GUEST. None?
    Then why the noise?
  WAITER. It boils.
  Boy. Sir!
"""
ERRORS = """
A SONNET

by William Shakespeare

  No role speaks here at all

THE COMEDY OF ERRORS

by William Shakespeare

ACT I. SCENE 1
DUKE. You are not he
who was here before.
<Exit>
Nobody speaks this line.
MERCHANT. I am his brother.

DUKE. So.
"""


def play(speeches=SPEECHES, more=ERRORS):
    return HEAD + speeches + more


def write(folder, text):
    """The zip file with a text of the works, in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / shakespeare.FILE, "w") as archive:
        archive.writestr(shakespeare.MEMBER, text)
    return folder / shakespeare.FILE


def long(count):
    """Two roles that answer each other in so many lines."""
    return "\n".join(
        f"  {'ROMEO' if n % 2 else 'Juliet'}. Line {n} of what I have to say to you" for n in range(count)
    )


def spelt(codes):
    return "".join(shakespeare.ALPHABET[code] for code in codes)


def test_the_lines_of_a_role_are_its_own_in_their_order_whatever_case_its_name_has():
    found = shakespeare.spoken(play())
    tempest = {role: said for (title, role), said in found.items() if title == "THE TEMPEST IN A TEACUP"}
    assert list(tempest) == ["GUEST", "WAITER", "BOY"]
    assert [said.strip() for said in tempest["GUEST"]] == [
        "The cup is   full, the spoon is in it; stir",
        "and see what weather comes of it!",
        "Exit",  # as indented as what is spoken: LEAF takes it for that
        "I hear it roar.",
        "None?",
        "Then why the noise?",
    ]
    assert tempest["WAITER"] == ["No storm is in it,", "It boils."]


def test_the_play_without_indents_is_read_as_it_is_and_a_poem_has_no_roles():
    found = shakespeare.spoken(play())
    assert {title for title, _ in found} == {"THE TEMPEST IN A TEACUP", "THE COMEDY OF ERRORS"}
    assert found["THE COMEDY OF ERRORS", "DUKE"] == ["You are not he", "who was here before.", "So."]
    assert found["THE COMEDY OF ERRORS", "MERCHANT"] == ["I am his brother.", ""]


def test_ends_of_lines_and_several_spaces_are_one_space():
    assert spelt(shakespeare.coded(["a  b,", "   c"])) == "a b, c "


def test_a_character_that_leaf_does_not_know_is_the_first_one():
    assert shakespeare.coded(["é"]).tolist() == [0, 1]


def test_the_alphabet_is_that_of_leaf():
    assert len(set(shakespeare.ALPHABET)) == len(shakespeare.ALPHABET) == 80


def test_an_example_is_the_80_characters_before_a_place_and_that_of_the_place(tmp_path):
    write(tmp_path, play(long(100)))
    found = shakespeare.decode(tmp_path)
    assert arrays.problem(found) == "" and found.classes == 80 and found.x_train.shape[1] == 80
    texts = [
        spelt(shakespeare.coded(said))
        for said in shakespeare.spoken(play(long(100))).values()
        if len(said) > 9
    ]
    for role, text in enumerate(texts):
        mine = np.flatnonzero(found.owner == role)
        n = len(text) - 80
        assert len(mine) == int(0.9 * n)
        whole = "".join(spelt(found.x_train[row])[0] for row in mine) + spelt(found.x_train[mine[-1]])[1:]
        assert whole + spelt([found.y_train[mine[-1]]]) == text[: len(mine) + 80]
    assert len(found.owner) == len(found.y_train) and set(found.owner) == {0, 1}


def test_no_tested_example_shares_an_input_with_a_trained_one():
    ((windows, trained),) = shakespeare.examples({("p", "r"): [f"{n:04}" for n in range(400)]})
    first_tested = trained + shakespeare.LENGTH - 1
    assert first_tested + 1 > trained - 1 + shakespeare.LENGTH
    assert windows.shape == (400 * 5 - 80, 81)


def test_roles_that_say_little_are_left_out():
    short = {
        ("p", "two lines"): ["x" * 2000] * 2,
        ("p", "few"): ["x"] * 30,
        ("p", "none tested"): ["x" * 60] * 5,
    }
    assert list(shakespeare.examples(short)) == []


def test_a_mirror_of_the_file_is_fetched_recorded_and_decoded(tmp_path, capsys):
    write(tmp_path / "mirror/shakespeare", play(long(100)))
    path = data.prepare("shakespeare", tmp_path / "resources", [str(tmp_path / "mirror")])
    assert set(arrays.load(path).owner) == {0, 1}
    assert capsys.readouterr().err.count("could not be compared with a published one\n") == 1


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (lambda path: path.write_bytes(b"<html>"), "no whole zip file"),
        (lambda path: path.write_bytes(path.read_bytes()[:-30]), "no whole zip file"),
        (lambda path: write(path.parent, "Sonnets by William Shakespeare"), "no play in 100.txt"),
        (lambda path: write(path.parent, "x" * 2**25), "more than 16,777,216 bytes in 100.txt"),
    ],
)
def test_what_is_no_file_of_the_works_is_told_by_a_glance(tmp_path, spoil, found):
    path = write(tmp_path, play())
    assert shakespeare.problem(path) == ""
    spoil(path)
    assert shakespeare.problem(path).startswith(f"found {found}")
    assert "the Complete Works of 1994 (Project Gutenberg, number 100)" in shakespeare.problem(path)


def test_a_damaged_file_is_bad_input_that_names_it(tmp_path):
    path = write(tmp_path, play())
    with pytest.raises(BadInput, match="found no role that says enough"):
        shakespeare.decode(tmp_path)
    path.write_bytes(b"PK")
    with pytest.raises(BadInput, match=f"{shakespeare.FILE}: found no whole zip file"):
        shakespeare.decode(tmp_path)


def test_where_the_file_is_to_be_had_is_said_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("fedpriv.data.download.download", lambda *_: "no network")
    with pytest.raises(
        data.source.SourceError, match=r"gutenberg.*Put the right file .* shakespeare/1994-01-100.zip"
    ):
        data.fetch("shakespeare", tmp_path, [])


def test_the_preset_of_the_examples_trains_on_the_file_of_a_mirror(tmp_path, monkeypatch, capsys):
    write(tmp_path / "mirror/shakespeare", play(long(100)))
    monkeypatch.setenv("FEDPRIV_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.chdir(ROOT)
    short = ("rounds=1", "partition.clients=2", "partition.examples=20", "cohort.rate=1.0", "local.steps=1")
    words = (
        "--paper",
        "shakespeare",
        "--run",
        "lstm_dp",
        *(word for one in short for word in ("--set", one)),
    )
    places = ("--out", str(tmp_path / "out"), "--resources", str(tmp_path / "resources"))
    small = ("--set", "model.width=4", "--set", "evaluation.stride=1")
    assert main(("run", "bring_your_own/shakespeare.yaml", *words, *small, *places)) == 0
    assert "after 1 round" in capsys.readouterr().out
