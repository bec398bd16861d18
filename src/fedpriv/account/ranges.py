"""The ranges of the numbers that accountants work with, and the check of those that a plan gives them."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real

from fedpriv.errors import BadInput, plain

Range = tuple[Callable[[float], bool], str]

SHARE: Range = (lambda value: 0 < value < 1, "above 0 and below 1")
INVERSE: Range = (lambda value: value >= 1e-300, "at least 1e-300")  # as a config has it
RATE: Range = (lambda value: 0 < value <= 1, "above 0 and at most 1")
ABOVE_ZERO: Range = (lambda value: 0 < value < math.inf, "above 0")
AT_LEAST_ONE: Range = (lambda value: value >= 1, "at least 1")
# The squares of others are zero or infinite.
SQUARES: Range = (lambda value: 1e-100 <= value <= 1e100, "1e-100 to 1e100")


def range_below(most: float) -> Range:
    """Return the range that ends with `most`."""
    return lambda value: value <= most, f"at most {most:g}"


# What each value must be, the first thing first.
RANGES: dict[str, tuple[Range, ...]] = {
    "epsilon": (ABOVE_ZERO,),
    "delta": (SHARE, INVERSE),
    "instance_delta": (SHARE, INVERSE),
    "sampling_rate": (RATE,),
    "noise_multiplier": (ABOVE_ZERO, SQUARES),
    "gamma": (
        (lambda value: 0 <= value < 0.5, "at least 0 and below 0.5"),
        (lambda value: value == 0 or value >= 1e-100, "0, or at least 1e-100"),
    ),
    "rounds": (AT_LEAST_ONE, range_below(1e18)),
    "dimension": (AT_LEAST_ONE, range_below(1e12)),
    "clients": (AT_LEAST_ONE, range_below(1e18)),
    "rounds x dimension": (range_below(1e12),),
}


def check(**values: float) -> None:
    """Raise BadInput naming the first value that is out of its range, or no number."""
    for name, value in values.items():
        for allowed, words in RANGES[name]:
            if not isinstance(value, Real) or not allowed(value):
                raise BadInput(f"{name}: found {value_text(value)}, allowed: {words}")


def value_text(value: object) -> str:
    """Return a value as messages have it: a number in six digits, of anything else the beginning."""
    if isinstance(value, int) and abs(value) >= 10**300:
        return f"a number of {len(str(value))} digits"
    return f"{value:g}" if isinstance(value, Real) else plain(value)
