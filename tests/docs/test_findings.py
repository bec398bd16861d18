"""Every number among the findings of the README is in the cell of a reference table that is named there."""

import re
from pathlib import Path

import pandas as pd
import pytest
import yaml

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FOUND = README.partition("\nWhat we found")[2].partition("\nEvery verdict (")[0].partition("\n\n")[2]
MARKS = re.compile(r"(?:\s*<!-- [^>]*-->)+")
NUMBER = re.compile(r"(?<![\w.−])\d[\d,]*(?:\.\d+)?(?!\w)")  # not 2γ
LINK = re.compile(r"\]\([^)]*\)")


def statements(text):
    """Yield every statement that names cells, with them; and what follows the last one, with none."""
    start = 0
    for marks in MARKS.finditer(text):
        yield text[start : marks.start()], re.findall(r"<!-- (\S+) (\{.*?\}) -->", marks[0])
        start = marks.end()
    yield text[start:], []


def line(path, wanted):
    """Return the one line of a table that is named."""
    table = pd.read_csv(ROOT / "results/reference" / path, dtype=str, keep_default_na=False)
    for key, value in yaml.safe_load(wanted).items():
        said = pd.to_numeric(table[key]) == value if isinstance(value, float) else table[key] == str(value)
        table = table.loc[said]
    (found,) = table.to_dict("records")
    return found


def numbers(text):
    return [one.rstrip(",") for one in NUMBER.findall(text)]


def told(cells):
    """Return all numbers that cells hold: of claims those that were measured, and what names the cell."""
    found = [float(one.replace(",", "")) for _, wanted in cells for one in numbers(wanted)]
    for cell in (line(*one) for one in cells):
        if "measured" in cell:
            said = (cell["measured"] + cell["claim"]).replace("−", " ")
            found += [float(one.replace(",", "")) for one in numbers(said)]
            continue
        value = float(cell["value"])
        half = (float(cell["high"] or "nan") - float(cell["low"] or "nan")) / 2
        found += [one * (100 if "accuracy" in cell["quantity"] else 1) for one in (value, half)]
    return found


def is_there(quoted, found):
    """Return whether a number is one of those found, rounded to the digits that are quoted."""
    whole = quoted.replace(",", "")
    last = 10.0 ** -len(whole.partition(".")[2])
    if "," in quoted:  # a large number is quoted with the digits that count
        last = 10.0 ** (len(whole) - len(whole.rstrip("0")))
    return any(abs(float(whole) - one) <= 0.5001 * last for one in found)


def seeds(cell):
    """Return how many seeds a cell rests on; a published number is what it is."""
    if "measured" in cell:
        return 3 if "±" in cell["measured"] else 1
    return float("inf") if cell.get("source") == "published" else float(cell["seeds"])


@pytest.mark.parametrize(("said", "cells"), [*statements(FOUND)])
def test_a_number_that_is_quoted_is_in_the_cell_that_is_named(said, cells):
    found = told(cells)
    assert [one for one in numbers(LINK.sub("", said)) if not is_there(one, found)] == []


@pytest.mark.parametrize(("said", "cells"), [*statements(FOUND)])
def test_what_is_found_rests_on_three_seeds_or_says_that_it_does_not(said, cells):
    few = [cell for cell in cells if seeds(line(*cell)) < 3]
    text = " ".join(said.split())
    assert not few or "one seed" in text or "two seeds" in text


def test_a_number_without_a_cell_and_one_of_another_cell_are_found():
    cell = (
        "laptop/bdp2019/tables/table2_s3.csv",
        "{row: 100, column: dp, quantity: accuracy, source: reproduced}",
    )
    assert is_there("91.5", told([cell])) and is_there("1.9", told([cell]))
    assert not is_there("91.4", told([cell])) and not is_there("1", told([cell])) and not is_there("91.5", [])
    assert [*statements("It is 5.")] == [("It is 5.", [])] and numbers("It is 5.") == ["5"]


def test_large_numbers_are_quoted_with_the_digits_that_count():
    assert is_there("670,000", [669_700]) and is_there("7,401", [7401.2]) and not is_there("7,401", [7402.0])
    assert is_there("82,526", [82526]) and not is_there("100", [140])
