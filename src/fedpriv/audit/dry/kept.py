"""The second release of a round: what a scheme remembers of its clients, with noise of its own.

Nobody says how a kept number follows from what clients sent. So the unit is what one client moves it by: the
round is played with and without the hostile client that moves it most, with its own noise and with that of
another run. By how many clients both noises are apart is the difference of what is kept, over the mean of the
two moves. The mean is logarithmic: exact where a count is added to what is kept, and where what is kept is
multiplied by its exponential. Over √2 this is noise of the variance that a fact states, or more: a client
may move less than the scheme allows for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from scipy.stats import chi2

from fedpriv.audit.dry.attacks import Statement
from fedpriv.audit.dry.normals import TESTS, Numbers, Suspicion, correlations, rarest, spread_over, step_of
from fedpriv.audit.dry.probes import hostile
from fedpriv.audit.dry.rounds import Round, Site
from fedpriv.schemes.base import Memory
from fedpriv.streams import Streams

STATED = "count_noise_multiplier"  # std of the noise over what a client moves it by; ∞: nothing is kept
EXACT = 1e-4  # of noise in clients: what is kept may be float32
FEWEST = 3  # runs of which a round is looked at by itself
ALONE = ("law", "rounds", "following", "runs", "repeats")  # what is tested of what is kept by itself


def flat(memory: Memory) -> np.ndarray:
    """All that is kept as one vector, by names."""
    parts = [memory[name].detach().double().numpy().ravel() for name in sorted(memory)]
    return np.concatenate(parts) if parts else np.zeros(0)


def names_of(memory: Memory) -> list[str]:
    """Name of the tensor in which each number of `flat` is."""
    return [name for name in sorted(memory) for _ in range(memory[name].numel())]


def logarithmic_mean(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return (a − b)/(ln a − ln b) of numbers of the same sign; the usual mean where they hardly differ."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithmic = (first - second) / np.log(first / second)
    return np.where(np.abs(first - second) > 1e-3 * np.abs(first), logarithmic, (first + second) / 2)


class Watch:
    """Who looks at what is kept: the same hostile client in all rounds of all runs."""

    def __init__(self, site: Site, stated: Statement) -> None:
        self.site, self.stated = site, stated
        self.client: int | None = None  # among the hostile ones; None: none has moved anything yet

    def look(self, round_number: int, memory: Memory, streams: Streams) -> tuple[np.ndarray, np.ndarray]:
        """Return what a client moves each kept number by `[K]`, and its noise in clients `[K]`.

        NaN where that is not seen.
        """
        runs = (streams, Streams(streams.seed, f"{streams.run}, others"))
        nobody = torch.zeros(self.site.dimension)

        def play(run: int, *clients: torch.Tensor) -> Round:
            rows = torch.stack([nobody, *clients])
            return self.site.play(rows, np.arange(len(rows)), round_number, memory, runs[run])

        silent = play(0)
        clients = hostile(self.site, self.stated, silent.facts, streams, round_number)
        here, there = flat(silent.remembered), flat(play(1).remembered)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.client is None:
                moves = np.array([flat(play(0, client).remembered) for client in clients]) - here
                far = np.nan_to_num(np.abs(moves / (there - here)), nan=0.0, posinf=1e99).sum(axis=1)
                if not far.any():
                    return np.zeros_like(here), np.full_like(here, np.nan)
                self.client = int(far.argmax())
            first, second = (
                flat(play(run, clients[self.client]).remembered) - without
                for run, without in enumerate((here, there))
            )
            noise = (there - here) / logarithmic_mean(first, second) / 2**0.5
        return first, np.where(np.isfinite(noise), noise, np.nan)


def suspicions(
    names: list[str], moved: np.ndarray, noise: np.ndarray, stated: np.ndarray, sums: np.ndarray
) -> Iterator[tuple[str, Suspicion]]:
    """Yield each fault that there may be of what is kept, by its name.

    Of K kept numbers in tensors of these `names`, in T rounds of R runs: what a client `moved` them by and
    their `noise` in clients `[R, T, K]`, NaN where it is not seen; what is `stated` of it `[R, T]`; and the
    noise of the sums of the same rounds `[R, T, d]`, over its std.
    """
    unstated = np.argwhere((moved != 0) & np.isinf(stated)[..., None])
    if len(unstated):
        _, round_number, number = unstated[0]
        yield (
            "stated",
            Suspicion(
                0.0,
                f"{names[number]}, which is kept after round {round_number + 1}, moves with a client and no "
                "fact states its noise; what follows from the noisy sum alone belongs in postprocess",
            ),
        )
    seen = np.isfinite(noise) & np.isfinite(stated)[..., None]
    numbers, rounds = seen.any(axis=(0, 1)), seen.any(axis=2).all(axis=0)
    if not rounds.any():
        return
    noise = noise[:, rounds][..., numbers]
    rng = np.random.default_rng(0)
    parts = [spread_over(part, step_of(part, EXACT), rng) for part in np.moveaxis(noise, 2, 0)]
    noise = np.stack(parts, axis=2)
    name = f"the noise of {' and '.join(dict.fromkeys(np.array(names)[numbers]))}, which is kept,"
    yield "kept_variance", too_little(noise, stated[:, rounds], name)
    usual = np.sqrt(np.nanmean(np.square(noise), axis=(0, 1)))
    if not np.isfinite(noise).all() or not (usual > 0).all():
        return
    alone = Numbers(noise / usual, EXACT / float(usual.min()), name=name)
    for test in ALONE:
        yield f"kept_{test}", TESTS[test](alone)
    _, second, rare = correlations(alone.rows, sums[:, rounds].reshape(-1, sums.shape[2]))
    yield "kept_sum", Suspicion(rare, f"{name} comes again in number {second} of the sum")


def too_little(noise: np.ndarray, stated: np.ndarray, name: str) -> Suspicion:
    """Fault: what is kept has less noise than is stated, in all rounds or in one.

    Of several numbers, each of which a client moves by one, the mean counts that has the least
    variance: it is chosen in every other round and looked at in the rest.
    """
    runs, rounds, size = noise.shape
    rows = noise.reshape(-1, size)
    combined = np.full(len(rows), np.nan)
    for start in (0, 1) if size > 1 else ():
        whole = rows[start::2][np.isfinite(rows[start::2]).all(axis=1)]
        weights = np.ones(size)
        if len(whole) > 4 * size:
            weights = np.linalg.lstsq(whole.T @ whole, weights, rcond=None)[0]
        combined[1 - start :: 2] = rows[1 - start :: 2] @ weights / weights.sum()
    combined = (rows[:, 0] if size == 1 else combined).reshape(runs, rounds) / stated
    squares, counts = np.nansum(combined**2, axis=0), np.isfinite(combined).sum(axis=0)
    parts = [(squares.sum(keepdims=True), counts.sum(keepdims=True))]
    if counts.min() >= FEWEST:
        parts.append((squares, counts))
    text = f"{name} has {{:.4g}} times the variance that {STATED} states"
    return rarest(
        (chi2.cdf(part, count), lambda index, part=part, count=count: text.format(part[index] / count[index]))
        for part, count in parts
    )
