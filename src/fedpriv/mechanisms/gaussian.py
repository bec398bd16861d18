"""The Gaussian mechanism: noise on the sum of bounded rows, divided by a public number."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Literal

from fedpriv.machine.environment import cores
from fedpriv.mechanisms.clipping import Bounded
from fedpriv.streams import Noise
from fedpriv.trace import Facts

if TYPE_CHECKING:
    import torch

# What a sum is divided by: the expected size of a cohort, or the number of those who came.
Denominator = Literal["expected", "present"]


def normals(sources: Sequence[Noise], like: torch.Tensor) -> torch.Tensor:
    """Return rows of standard normals `[n, d]`, each from its own source, drawn by a thread a core.

    They have the type and device of `like`.
    """
    import torch

    rows = torch.empty_like(like)
    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(lambda source, row: row.copy_(source.like(row)), sources, rows))
    return rows


def gaussian_mean(
    bounded: Bounded,
    noise_multiplier: float,
    expected: float,
    noise: Noise,
    denominator: Denominator = "expected",
) -> tuple[torch.Tensor, Facts]:
    """Return (Σ rows + N(0, (noise_multiplier · sensitivity)² I)) / expected; add/remove sensitivity.

    Where rows were scaled up to a norm, the noise is scaled to that, whatever the sensitivity is: the facts
    then hold the multiplier that is left, 0 where nothing bounds the rows.

    `expected` is the public size of a cohort, `noise` where the normals come from. A mean over those
    `present` reveals how many they are; over nobody it is divided by `expected` as well.
    """
    total = bounded.updates.sum(0)
    sensitivity = bounded.sensitivity("add_remove")
    noise_std = noise_multiplier * (bounded.least or sensitivity)
    left = noise_std / sensitivity if bounded.least else noise_multiplier
    facts = {"noise_multiplier": left, "noise_std": noise_std, "denominator": denominator}
    size = expected if denominator == "expected" else len(bounded.updates) or expected
    return (total + noise_std * noise.like(total)) / size, facts
