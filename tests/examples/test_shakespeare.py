"""Plays in the format of the Complete Works of 1994, of our own making."""

import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fedpriv.cli.app import main

HERE = Path(__file__).parents[2] / "examples/own"
sys.path.append(str(HERE))
import draw_shakespeare  # noqa: E402

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


def long(count):
    """Two roles that answer each other in so many lines."""
    return "\n".join(
        f"  {'ROMEO' if n % 2 else 'Juliet'}. Line {n} of what I have to say to you" for n in range(count)
    )


def spelt(codes):
    return "".join(draw_shakespeare.ALPHABET[code] for code in codes)


def test_the_lines_of_a_role_are_its_own_in_their_order_whatever_case_its_name_has():
    found = draw_shakespeare.spoken(play())
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
    found = draw_shakespeare.spoken(play())
    assert {title for title, _ in found} == {"THE TEMPEST IN A TEACUP", "THE COMEDY OF ERRORS"}
    assert found["THE COMEDY OF ERRORS", "DUKE"] == ["You are not he", "who was here before.", "So."]
    assert found["THE COMEDY OF ERRORS", "MERCHANT"] == ["I am his brother.", ""]


def test_text_is_coded_by_the_alphabet_of_leaf_and_ends_of_lines_and_several_spaces_are_one_space():
    assert len(set(draw_shakespeare.ALPHABET)) == len(draw_shakespeare.ALPHABET) == 80
    assert spelt(draw_shakespeare.coded(["a  b,", "   c"])) == "a b, c "
    assert draw_shakespeare.coded(["é"]).tolist() == [0, 1]  # what LEAF does not know is the first


def test_an_example_is_the_80_characters_before_a_place_and_that_of_the_place():
    found = SimpleNamespace(**draw_shakespeare.drawn(play(long(100))))
    assert found.classes == 80 and found.x_train.shape[1] == 80
    texts = [
        spelt(draw_shakespeare.coded(said))
        for said in draw_shakespeare.spoken(play(long(100))).values()
        if len(said) > 9
    ]
    for role, text in enumerate(texts):
        mine = np.flatnonzero(found.owner == role)
        n = len(text) - 80
        assert len(mine) == int(0.9 * n)
        whole = "".join(spelt(found.x_train[row])[0] for row in mine) + spelt(found.x_train[mine[-1]])[1:]
        assert whole + spelt([found.y_train[mine[-1]]]) == text[: len(mine) + 80]
    assert len(found.owner) == len(found.y_train) and set(found.owner) == {0, 1}


def test_roles_that_say_little_are_left_out():
    short = {
        ("p", "two lines"): ["x" * 2000] * 2,
        ("p", "few"): ["x"] * 30,
        ("p", "none tested"): ["x" * 60] * 5,
    }
    assert list(draw_shakespeare.examples(short)) == []


def test_the_preset_of_the_examples_trains_on_what_is_drawn_of_the_file(tmp_path, monkeypatch, capsys):
    file = tmp_path / "1994-01-100.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(draw_shakespeare.MEMBER, play(long(100)))
    monkeypatch.chdir(tmp_path)
    np.savez("shakespeare.npz", **draw_shakespeare.drawn(draw_shakespeare.text_in(file)))
    short = ("rounds=1", "partition.clients=2", "partition.examples=20", "cohort.rate=1.0", "local.steps=1")
    small = ("model.width=4", "evaluation.stride=1")
    words = ("--paper", "shakespeare", "--run", "lstm_dp", "--out", "out")
    changed = (word for one in (*short, *small) for word in ("--set", one))
    assert main(("run", str(HERE / "shakespeare.yaml"), *words, *changed)) == 0
    assert "after 1 round" in capsys.readouterr().out


def test_a_text_without_roles_that_say_enough_is_refused():
    with pytest.raises(ValueError, match="no role that says enough"):
        draw_shakespeare.drawn(play())
