"""Numbers in prose: each names its cell of a reference table, and is printed as the tables print it.

    {{paper/bdp2019/table2 | 100 | bdp}}                     89.9 ± 0.9
    {{table2 | 100 | bdp | published}}                       92
    {{table2 | 100 | tight | epsilon}}                       2.00
    {{table2_spends | 100 | dp | accountant=pld | epsilon}}  7.37
    {{claims | ours_tight_clip | Table I, N = 100 | gain}}   −2.0 ± 8.7

The folder is that of the quote before, unless it is named. `mean` leaves the interval out.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pandas as pd

from fedpriv.report.tables.long import printed

QUOTE = re.compile(r"\{\{([^{}]+)\}\}")
KEY = re.compile(r"[\w.]+=")  # of a column; a row may be called "γ = 0.1"
NUMBER = r"(−?[\d.,]+(?: ± [\d.]+)?)"
WORDS = ("published", "epsilon", "round", "mean")  # what a quote may say beside its cell


def filled(text: str, reference: Path) -> str:
    """Return a text with every quote replaced by its number; a quote of no cell is a ValueError naming it."""
    folder = ""

    def number(found: re.Match[str]) -> str:
        nonlocal folder
        place, *asked = (part.strip() for part in found[1].split("|"))
        folder, _, table = place.rpartition("/") if "/" in place else (folder, "", place)
        try:
            if table == "claims":
                return claimed(reference / folder / "claims.csv", *asked)
            return quoted(reference / folder / "tables" / f"{table}.csv", asked)
        except (ValueError, KeyError, OSError, TypeError) as error:
            raise ValueError(f"{found[0]}: {error}") from error

    return QUOTE.sub(number, text)


def quoted(path: Path, asked: list[str]) -> str:
    """Return the number of one cell of a table."""
    words = [one for one in asked if one in WORDS]
    keys = dict(one.split("=", 1) for one in asked if KEY.match(one))
    places = [one for one in asked if one not in words and not KEY.match(one)]
    keys |= dict(zip(("row", "column"), places, strict=False))
    table = read(path)
    quantity = next((one for one in ("epsilon", "round") if one in words), "accuracy")
    defaults = {"source": "published" if "published" in words else "reproduced", "quantity": quantity}
    keys = {name: value for name, value in (defaults | keys).items() if name in table}
    rows = table.loc[(table[list(keys)] == pd.Series(keys)).all(axis=1)]
    if len(rows) != 1:
        raise ValueError(f"found {len(rows)} cells, allowed: one")
    return printed(rows.iloc[0].to_dict(), alone="mean" in words)


def claimed(path: Path, claim: str, case: str, word: str = "") -> str:
    """Return the first number that a claim measured in a case, or that after a `word`."""
    measured = read(path).set_index("id").loc[claim, "measured"]
    (of_case,) = (one for one in str(measured).split("; ") if one.startswith(f"{case}: "))
    found = re.search(f"{word} {NUMBER}" if word else f" {NUMBER}", of_case[len(case) + 1 :])
    if not found:
        raise ValueError(f"found no number in {of_case!r}")
    return found[1]


@cache
def read(path: Path) -> pd.DataFrame:
    """Return a reference table, all of it text."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)
