"""What a trace and its distances must be like before anything is computed from them."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fedpriv.account.views import DISTANCES
from fedpriv.errors import BadInput
from fedpriv.trace import MISSING

# What the accountants read of a trace, and the values they can work with.
NUMBERS = {
    "population": (1, np.inf),
    "cohort_size": (0, np.inf),
    "sampling_rate": (1e-9, 1),
    "clip_l2": (0, np.inf),
    "noise_multiplier": (0, np.inf),
    "noise_std": (0, np.inf),
    "local_steps": (0, np.inf),
    "rate_sequential": (0, 1),
    "rate_parallel": (0, 1),
    "instance_clip_l2": (0, np.inf),
    "instance_noise_multiplier": (0, np.inf),
    "instance_noise_std": (0, np.inf),
    "noise_shares": (0, np.inf),
    "gamma": (0, 0.5),
    "noisy_bits": (0, np.inf),
    "upload_l2": (0, np.inf),
    "upload_noise_std": (0, np.inf),
    "clear_values": (0, np.inf),
}
# Where instances are protected.
INSTANCE_NUMBERS = {"local_steps": (1, np.inf), "rate_sequential": (1e-9, 1), "rate_parallel": (1e-9, 1)}
WORDS = {
    "unit": ("client", "instance", "both", "none"),
    "sampling_law": ("poisson", "fixed", "full"),
    "flips": ("", "coordinate", "tensor"),
}
FLAGS = ("clip_private", "per_example_clip")
# The same in all rounds: nobody composes randomised response of several kinds.
CONSTANT = ("gamma", "noisy_bits")


def with_defaults(trace: pd.DataFrame) -> pd.DataFrame:
    """Return a trace of any age with the columns of today's; what it never measured is NaN."""
    return trace.assign(**{name: value for name, value in MISSING.items() if name not in trace})


def check_trace(trace: pd.DataFrame) -> None:
    """Raise BadInput naming the first column of a trace that cannot be what happened."""
    for name in ("round", *FLAGS, *NUMBERS, *WORDS):
        if name not in trace:
            raise BadInput(f"trace: found no column {name}, allowed: the columns that a run writes")
    if not len(trace) or not np.array_equal(trace["round"], np.arange(1, len(trace) + 1)):
        raise BadInput(f"trace: round: found {len(trace)} rows not numbered 1, 2, 3, ..., allowed: no gaps")
    for name, allowed in WORDS.items():
        found = sorted({str(word) for word in trace[name]})
        if len(found) > 1 or found[0] not in allowed:
            raise BadInput(f"trace: {name}: found {', '.join(found)}, allowed: one of {', '.join(allowed)}")
    instances = trace["unit"].iloc[0] in ("instance", "both")
    for name, (low, high) in (NUMBERS | (INSTANCE_NUMBERS if instances else {})).items():
        values = trace[name].to_numpy(dtype=np.float64)
        wrong = values[~((values >= low) & (values <= high))]
        if len(wrong):
            raise BadInput(f"trace: {name}: found {wrong[0]:g}, allowed: {low} to {high}")
    for name in CONSTANT:
        values = [f"{value:g}" for value in trace[name].unique()]
        if len(values) > 1:
            raise BadInput(f"trace: {name}: found {', '.join(values)}, allowed: one value in all rounds")
    if (trace["noisy_bits"] > 0).any() and not trace["flips"].iloc[0]:
        raise BadInput("trace: flips: found nothing with noisy_bits above 0, allowed: coordinate or tensor")
    if len(set(trace["noise_shares"] > 0)) > 1:
        raise BadInput("trace: noise_shares: found 0 in some rounds, allowed: in all rounds or in none")
    for level in ("", "instance_"):
        _check_noise(trace, f"{level}noise_std", f"{level}noise_multiplier", f"{level}clip_l2")


def _check_noise(trace: pd.DataFrame, std: str, multiplier: str, clip: str) -> None:
    """Raise BadInput unless the column `std` is `multiplier` × `clip`."""
    found, factor, bound = (trace[name].to_numpy(dtype=np.float64) for name in (std, multiplier, clip))
    noisy = factor > 0
    if (found[~noisy] != 0).any() or not np.allclose(found[noisy], factor[noisy] * bound[noisy], rtol=1e-6):
        raise BadInput(f"trace: {std}: found another value than {multiplier} × {clip}, allowed: that product")


def check_distances(distances: Mapping[str, np.ndarray], trace: pd.DataFrame) -> None:
    """Raise BadInput naming the first array that is not of distances or NaN, in the shape the trace gives.

    Those of clients are `[T, m]`, those of instances `[T, K, n, m]` with K steps and the largest cohort's n.
    """
    rounds, steps, members = len(trace), int(trace["local_steps"].max()), int(trace["cohort_size"].max())
    for name in (prefix + distance for prefix in ("", "panel_", "instance_") for distance in DISTANCES):
        if name not in distances:
            continue
        array = distances[name]
        if name.startswith("instance_"):
            fits = array.ndim == 4 and array.shape[:2] == (rounds, steps) and array.shape[2] >= members
            allowed = f"({rounds}, {steps}, {members}, samples)"
        else:
            fits = array.ndim == 2 and len(array) == rounds
            allowed = f"({rounds}, samples)"
        if not fits:
            raise BadInput(f"distances: {name}: found shape {array.shape}, allowed: {allowed}")
        if (array < 0).any() or np.isinf(array).any():
            raise BadInput(
                f"distances: {name}: found a negative or infinite distance, allowed: finite, at least 0"
            )
