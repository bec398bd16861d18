"""What stands under tables and figures about what clients send, and about whose weights are evaluated."""

import json

import numpy as np
import pandas as pd

from fedpriv.report.cells import several

COINS = {
    "coordinate": "a coin for every weight, as the paper defines it",
    "tensor": "one coin for all weights of a tensor, as the released code has it",
}
NORMALISATION = {
    "shared": "batch normalisation sent in the clear",
    "local": "batch normalisation kept by its client",
    "none": "no batch normalisation",
}


def responses(frame: pd.DataFrame) -> list[str]:
    """Say how clients flipped bits, what else they sent, and how much of the broadcast they took over."""
    noisy = frame.loc[frame["noisy_bits"] > 0]
    found: dict[str, list[float]] = {}
    for (gamma, coins, config), some in noisy.groupby(["gamma", "flips", "config"], observed=True):
        read = json.loads(str(config))
        clear = int(some["clear_values"].max())
        words = [
            COINS[str(coins)],
            f"{int(some['noisy_bits'].max()):,} bits an upload",
            NORMALISATION[read["model"].get("bn", "none")] + (f" ({clear:,} numbers)" if clear else ""),
            f"β = {read['local'].get('mixing', 1):g}",
            *(["the mean divided by 2γ"] if read["scheme"].get("debias") else []),
            *([f"the mean times {gain:g}"] if (gain := read["scheme"].get("gain", 1)) != 1 else []),
        ]
        found.setdefault("; ".join(words), []).append(float(str(gamma)))
    return [f"Randomised response, γ = {several(gammas)}: {words}." for words, gammas in found.items()]


def noises(frame: pd.DataFrame) -> list[str]:
    """Say how much noise was on uploads and before broadcasts, and what bounds an upload beneath it."""
    noisy = frame.loc[(frame["upload_noise_std"] > 0) | (frame["broadcast_noise_std"] > 0)]
    if noisy.empty:
        return []
    up = noisy.loc[noisy["upload_noise_std"] > 0]
    down = noisy["broadcast_noise_std"]
    bounds = several(bound for bound in up["upload_l2"] if np.isfinite(bound))
    bare = "nothing" if np.isinf(up["upload_l2"]).any() else ""
    parts = [
        f"on uploads of std {several(up['upload_noise_std'])} at least" if len(up) else "",
        f"beneath it the norm bounded by {' or '.join(filter(None, (bounds, bare)))}" if len(up) else "",
        f"before broadcasts of std {several(down)}" if any(down) else "none before broadcasts",
    ]
    return [f"Gaussian noise ({', '.join(noisy['scheme'].unique())}): {'; '.join(filter(None, parts))}."]


def evaluations(frame: pd.DataFrame) -> list[str]:
    """Say whose weights were evaluated, where it was not the server's."""
    notes = []
    for config in frame["config"].unique():
        how = json.loads(config).get("evaluation", {})
        if how.get("models") == "clients":
            stride = how["stride"]
            part = f"; before the last round on one of {stride} test examples" if stride > 1 else ""
            notes.append(
                "Accuracy is the mean over all clients' own weights, which they have after a broadcast"
                f"{part}. Drawn: {how['drawn']} clients, with replacement."
            )
    return list(dict.fromkeys(notes))
