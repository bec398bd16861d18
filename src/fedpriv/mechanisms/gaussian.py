"""The Gaussian mechanism: noise on the sum of bounded rows, divided by a public number; and distances of it.

The Bayesian accountant measures distances, sampled from a round's noise-free bounded updates. Federated
Learning with Bayesian Differential Privacy, section V-A leaves open which distance between neighbouring
outcomes is meant. In units of the *sum* of updates ū, against the std of its noise, they are

    remove_sum   ‖ū_i‖                       with or without i, public denominator
    remove_mean  ‖ū_i − mean_{j≠i} ū_j‖       with or without i, mean of those present
    pairwise     ‖ū_i − ū_j‖                 i replaced by j
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Literal

import numpy as np

from fedpriv.mechanisms.clipping import Bounded
from fedpriv.store.machine import cores
from fedpriv.streams import Noise
from fedpriv.trace import Facts

if TYPE_CHECKING:
    import torch


def distances(updates: torch.Tensor, size: int, chosen: np.ndarray) -> dict[str, np.ndarray]:
    """Return each distance for the `chosen` rows of `updates` `[n, d]`, float64.

    The outcome is that of the cohort, the first `size` rows; a chosen row outside the cohort is measured as
    if it joined.
    """
    import torch

    positions = torch.from_numpy(chosen)
    rows = updates[positions]
    present = (positions < size).to(rows)[:, None]
    total = updates[:size].sum(0) if len(chosen) else 0  # a gigabyte of large cohorts
    mean = (total - rows * present) / (size - present).clamp(min=1)
    norms = {"remove_sum": rows.norm(dim=1), "remove_mean": (rows - mean).norm(dim=1)}
    return {name: values.double().cpu().numpy() for name, values in norms.items()}


def leave_one_out(
    total: torch.Tensor, rows: torch.Tensor, grown: float | torch.Tensor, l2: float
) -> dict[str, torch.Tensor]:
    """Distances `[m]`, by name, that each of `rows` `[m, d]` moves the clipped mean of its batch.

    `total` `[d]` is the mean over the public batch size and `rows` are examples' parts of it; a mean over
    those present, n of them, is `grown` = n/(n − 1) times as large without one. The neighbours are clipped
    to `l2` as the mean is, which never takes them apart. The names are those of `distances`.
    """
    import torch

    without = total - rows
    clipped = total * (l2 / total.norm()).clamp(max=1)

    def moved(neighbours: torch.Tensor, scale: float | torch.Tensor) -> torch.Tensor:
        inside = scale * (l2 / (scale * neighbours.norm(dim=1, keepdim=True))).clamp(max=1)
        return torch.addcmul(clipped, neighbours, inside, value=-1).norm(dim=1)

    return {"remove_sum": moved(without, 1.0), "remove_mean": moved(without, grown)}


def upload_distance(rows: torch.Tensor) -> float:
    """Return the distance of two of the rows `[n, d]` far from each other: at least half of the largest.

    One is the farthest from the first row, the other the farthest from it.
    """
    import torch

    def distances_from(place: int) -> torch.Tensor:
        # Row by row: all differences at once would need as much memory as the rows.
        return torch.stack([torch.linalg.vector_norm(row - rows[place], dtype=torch.float64) for row in rows])

    if len(rows) < 2:
        return 0.0
    return float(distances_from(int(distances_from(0).argmax())).max())


def sample_positions(cohort_size: int, samples: int, rng: np.random.Generator) -> np.ndarray:
    """Return the positions of min(cohort, wanted) members drawn without replacement, in random order."""
    return rng.permutation(cohort_size)[:samples]


def pad_rounds(rows: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """Return the rounds' samples as one array `[rounds, *shape]` of their dtype, missing ones NaN."""
    table = np.full((len(rows), *shape), np.nan, dtype=rows[0].dtype)
    for line, row in zip(table, rows, strict=True):
        line[tuple(map(slice, row.shape))] = row
    return table


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
