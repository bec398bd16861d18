"""No rendered reference calls an ε a guarantee of which an assumption fails."""

import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from fedpriv.account.statement import STATUSES, kind_of, mark_epsilon, status
from fedpriv.report import numbers

TABLES = sorted(Path("results/reference").glob("*/*/tables/*.csv"))
SEEDS = sorted(Path("results/reference").glob("*/*/tables/*_seeds.csv"))
COUNTED = [path for path in TABLES if {"quantity", "epsilon_status"} <= set(pd.read_csv(path, nrows=0))]


def test_most_tables_with_an_epsilon_say_what_it_is():
    assert len(COUNTED) > 30


@pytest.mark.parametrize("path", COUNTED, ids=lambda path: "-".join(path.parts[2:]))
def test_a_status_is_a_guarantee_only_where_that_is_counted_and_every_assumption_holds(path):
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    counted = frame.loc[frame["epsilon_status"] != ""]
    says = counted["epsilon_status"] == "guarantee"
    assert (counted.loc[says, "kind"] == "guarantee").all()
    others = counted.loc[~says, "epsilon_status"]
    assert others.str.match(r"not a guarantee: \w|estimate|nominal").all()
    named = counted.filter(["run", "row", "accountant", "unit", "relation", "sampling_law", "delta", "seeds"])
    ledger = (counted["quantity"] == "epsilon") & (counted.get("source", "") != "published")
    assert (named.loc[ledger & ~counted["value"].isin(["", "0.0"])] != "").all(axis=None)


FORMS = [(path, form) for path in COUNTED for form in (".md", ".tex") if path.with_suffix(form).exists()]
MARKS = {"g": "", "n": "†", "e": "‡"}  # by the first letter of a status


def number_and_mark(line):
    """Return an ε as it must stand in a table: its number without an interval, and its mark."""
    show = numbers.three_digits if line["quantity"] == "epsilon_label" else numbers.size
    text = show([float(line["value"])])
    return text, "" if text == "∞" else MARKS[line["epsilon_status"][0]]


@pytest.mark.parametrize(("path", "form"), FORMS, ids=str)
def test_every_epsilon_that_is_no_guarantee_has_its_mark_and_no_guarantee_has_one(path, form):
    lines = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
    lines = [one for one in lines if one["quantity"].startswith("epsilon") and one["epsilon_status"]]
    wanted = Counter(number_and_mark(one) for one in lines if one["value"])
    text = path.with_suffix(form).read_text(encoding="utf-8")
    for command, sign in {"$\\dagger$": "†", "$\\ddagger$": "‡", "$\\pm$": "±", "$\\cdot$": "·"}.items():
        text = text.replace(command, sign)
    shown = re.findall(r"([\d.]+)(?: · 10(?:\$\^\{\d+\}\$|[⁰¹²³⁴-⁹]+))?(?: ± [\d.]+)?([†‡]?)", text)
    found = Counter(shown)
    for (number, mark), count in wanted.items():
        if mark:
            assert found[number.partition(" ")[0], mark] >= count, (number, mark)
    assert sum(count for (_, mark), count in wanted.items() if mark) <= sum(
        count for (_, mark), count in found.items() if mark
    )


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: "-".join(path.parts[2:]))
def test_every_epsilon_of_a_seed_says_what_it_is(path):
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    of_epsilon = [name for name in frame if name.startswith("epsilon") and not name.endswith("_status")]
    for name in of_epsilon:
        said = frame.loc[frame[name] != "", f"{name}_status"]
        assert said.str.match(r"guarantee$|not a guarantee: \w|estimate").all()


@pytest.mark.parametrize("kind", STATUSES)
@pytest.mark.parametrize("violation", ["", "cohorts have a fixed size"])
def test_a_status_says_of_which_kind_its_epsilon_is(kind, violation):
    assert kind_of(status(kind, violation)) == kind


@pytest.mark.parametrize("kind", [*STATUSES, "violation"])
def test_one_function_marks_all_but_a_guarantee(kind):
    said = status("guarantee", "cohorts have a fixed size") if kind == "violation" else status(kind)
    assert mark_epsilon("2.00", said) == {"guarantee": "2.00", "estimate": "2.00‡"}.get(kind, "2.00†")
    assert mark_epsilon("∞", said) == "∞" and numbers.epsilon_of_seeds([float("nan")], said) == numbers.NONE
    assert numbers.epsilon_of_seeds([2.0], said) == mark_epsilon("2.00", said) == f"2.00{MARKS[said[0]]}"


@pytest.mark.parametrize(
    "page", ["README.md", "docs/findings.md", "docs/guarantees.md", "docs/papers/bdp2019.md"]
)
def test_pages_mark_what_is_no_guarantee_and_say_what_the_marks_mean(page):
    text = Path(page).read_text(encoding="utf-8")
    assert "7.62†" in text and not re.search(r"7\.62(?!†)", text)
    assert "†" in text and "‡" in text and re.search("†:? (is|stands|means|where|not)", text)
