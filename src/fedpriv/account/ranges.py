"""The values that can be counted with, and what is said of others."""

from collections.abc import Callable

from fedpriv.errors import BadInput

Range = tuple[Callable[[float], bool], str]

SHARE: Range = (lambda value: 0 < value < 1, "above 0 and below 1")
POSITIVE: Range = (lambda value: 0 < value < float("inf"), "above 0")
COUNT: Range = (lambda value: value >= 1, "at least 1")
RANGES: dict[str, Range] = {
    "epsilon": POSITIVE,
    "delta": SHARE,
    "instance_delta": SHARE,
    "sampling_rate": (lambda value: 0 < value <= 1, "above 0 and at most 1"),
    "noise_multiplier": POSITIVE,
    "gamma": (lambda value: 0 <= value < 0.5, "at least 0 and below 0.5"),
    "rounds": COUNT,
    "dimension": COUNT,
    "clients": COUNT,
}


def check(**values: float) -> None:
    """Raise BadInput naming the first value that is out of its range."""
    for name, value in values.items():
        allowed, words = RANGES[name]
        if not allowed(value):
            raise BadInput(f"{name}: found {value:g}, allowed: {words}")
