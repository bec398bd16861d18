"""Claims in words: what is tested, and what was measured."""

from typing import TypeVar

import pandas as pd

from fedpriv.paper.claims import Check
from fedpriv.paper.quantities import COLUMN, PRIVATE, Accuracy, Lead, Number, Rise
from fedpriv.paper.spends import MEASURES
from fedpriv.report.claims.quantities import Read
from fedpriv.report.numbers import percent
from fedpriv.report.reading import difference

T = TypeVar("T")
# What was measured, by what is compared with what; otherwise the one text, or one text against the other.
NUMBERS = {"gain": "gain {0} points", "epsilon": "ε {0}", "spent": "ε {0}"}
PAIRS = {
    ("gain", "gain"): "gain {0} against {1} points",
    ("gain", "published_gain"): "gain {0} against {1} points",
    ("gain", "share"): "{0} of {1} points",
    ("published", "accuracy_within"): "{1}",
    ("epsilon", "epsilon"): "ε {0} against {1}",
    ("spent", "spent"): "ε {0} against {1}",
    ("spent", "epsilon"): "ε {0} against {1}",
}


def in_order(check: Check, that: T, other: T) -> tuple[T, T]:
    """Return both in the order in which they are told: of two ε the smaller one first."""
    turned = check.at_least and check.that.name() in ("epsilon", "growth")
    return (other, that) if turned else (that, other)


def measured(check: Check, that: Read, other: Read) -> str:
    """Return what was measured."""
    names = check.that.name(), check.other.name()
    if isinstance(check.other, Number):
        return NUMBERS.get(names[0], "{0}").format(that.text)
    first, second = in_order(check, that.text, other.text)
    ours, theirs = that.values, other.values  # by seed
    if names == ("accuracy", "accuracy") and isinstance(ours, pd.Series) and isinstance(theirs, pd.Series):
        return f"{first} against {second}, gain {percent(difference(ours, theirs))} points"
    if names == ("growth", "growth") or (names == ("epsilon", "epsilon") and check.times is not None):
        of_first, of_second = in_order(check, check.that.epsilons[0], check.other.epsilons[0])
        return f"{first} ({of_first}) against {second} ({of_second})"
    return PAIRS.get(names, "{0} against {1}").format(first, second)


def sentence(check: Check) -> str:
    """Return what is tested."""
    that, other = check.that, check.other
    sign = "≥" if check.at_least else "≤" if check.at_most else "="
    words = [str(that), *here(check), sign]
    if isinstance(other, Number):
        words.append(" or ".join(amount(value, that.unit) for value in values(check, other.number)))
    else:
        words += [] if check.times is None else [f"{check.times:g} times"]
        words += [str(other), *(["elsewhere"] if check.elsewhere else [])]
    if check.plus:
        unit = that.unit and "points"
        signed = (
            f"{'+' if value > 0 else '−'} {amount(abs(value), unit)}" for value in values(check, check.plus)
        )
        words.append(" or ".join(signed))
    if check.margin is not None:
        words.append(f"± {amount(check.margin, that.unit and 'points')}")
    paired = that.unit == "points" or other.names(COLUMN, PRIVATE)
    return ", ".join(filter(None, (" ".join(words), when(check), "paired by seed" if paired else "")))


def here(check: Check) -> list[str]:
    """Return the words that name the one row which is compared with those elsewhere."""
    if not check.elsewhere:
        return []
    row = *check.tables, *(f"N = {clients:,}" for clients in check.clients), *check.labels
    return [f"at {', '.join(row)}"]


def when(check: Check) -> str:
    """Return at which round numbers are read; in a table its budgets decide that for accuracies."""
    if isinstance(check.that, Accuracy | Lead | Rise):
        return MEASURES[check.that.measure] if check.cases else ""
    return check.that.when


def values(check: Check, given: float | str) -> list[float]:
    """Return a number, or the different ones that cases give under that name."""
    if isinstance(given, float):  # whatever the cases are
        return [given]
    return list(dict.fromkeys(case.number(given) for case in check.judged({})))


def amount(value: float, unit: str) -> str:
    """Return a number with its unit, which is that of percents, and a true minus sign."""
    text = f"{100 * value:g} {unit}" if unit else f"{value:g}"
    return text.replace("-", "−")
