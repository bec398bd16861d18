"""Plausible finished runs: every accuracy and every ε in them is known in closed form."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from fedpriv.report.spends import WORDS

ROUNDS = 20
# (accountant, composition, distance, right_term, sensitivity) -> ε after the last round; ε grows with √round.
SPENDS = {
    ("moments", "", "", "", "C"): 8.0,
    ("moments", "", "", "", "2C"): 17.0,
    ("rdp", "", "", "", "C"): 7.0,
    ("pld", "", "", "", "C"): 6.0,
    ("bayesian", "product", "remove_mean", "both_left", ""): 2.0,
    ("bayesian", "hoelder", "remove_mean", "both_left", ""): 9.0,
}


def ledger_of(scale: float, delta: float, rounds: int = ROUNDS, assumptions_met: bool = True) -> pd.DataFrame:
    """Return a ledger in which every ε of `SPENDS` times `scale` is reached after the last round."""
    frames = []
    for key, epsilon in SPENDS.items():
        words = dict(zip(WORDS, key, strict=True))
        round = np.arange(1, rounds + 1)
        values = scale * epsilon * np.sqrt(round / rounds)
        frames.append(
            pd.DataFrame(
                {"round": round, "epsilon": values, "attacker_accuracy": 1 / (1 + np.exp(-values))}
                | words
                | {"unit": "client", "relation": "add_remove", "sampling_law": "poisson", "delta": delta}
                | {"order": 4.0, "assumptions_met": assumptions_met}
                | {"kind": "estimate" if words["accountant"] == "bayesian" else "guarantee"}
            )
        )
    return pd.concat(frames, ignore_index=True)


def write_run(
    directory: Path,
    run: str,
    seed: int,
    *,
    private: bool,
    final: float = 0.9,
    clients: int = 100,
    scale: float = 1.0,
    delta: float = 1e-3,
    stand_in_for: str | None = None,
    assumptions_met: bool = True,
) -> Path:
    """Write a finished, accounted run whose accuracy, every second round, rises to `final` + seed/1000."""
    out = directory / run / f"seed{seed}"
    out.mkdir(parents=True)
    round = np.arange(1, ROUNDS + 1)
    accuracy = (final + seed / 1000) * round / ROUNDS
    trace = pd.DataFrame(
        {
            "round": round,
            "scheme": "client_dp" if private else "none",
            "unit": "client" if private else "none",
            "relation": "add_remove",
            "sampling_law": "poisson",
            "population": clients,
            "expected_cohort": 0.3 * clients,
            "sampling_rate": 0.3,
            "cohort_size": int(0.3 * clients),
            "clip_l2": 0.3 if private else np.inf,
            "share_clipped": 0.5 if private else 0.0,
            "not_finite": 0,
            "clip_private": False,
            "noise_multiplier": 3.0 if private else 0.0,
            "noise_std": 0.9 if private else 0.0,
            "norm_min": 0.1,
            "norm_median": 0.3,
            "norm_max": 0.9,
            "server_learning_rate": 0.3,
            "train_loss": 2.3 * np.exp(-round / ROUNDS),
            "test_accuracy": np.where(round % 2 == 0, accuracy, np.nan),
            "test_loss": 1.0,
            "seconds": 0.1,
            "peak_mib": 100.0,
        }
    )
    trace.to_parquet(out / "trace.parquet", index=False)
    ledger = ledger_of(scale, delta, assumptions_met=assumptions_met)
    (ledger if private else ledger.iloc[:0]).to_parquet(out / "ledger.parquet", index=False)
    summary = {
        "paper": "small",
        "preset": "test",
        "run": run,
        "seed": seed,
        "config": {
            "model": {"name": "cnn", "widths": [8, 16], "activation": "tanh"},
            "scheme": {"clip_l2": 0.3},
            "server": {"learning_rate": final},
        },
        "rounds": ROUNDS,
        "rounds_wanted": ROUNDS,
        "parameters": 1000,
        "data": {
            "name": "digits",
            "train": 1437,
            "test": 360,
            "repetition": 1.0,
            "stand_in_for": stand_in_for,
        },
        "evaluated_on": "test",
        "environment": {"hardware": "a processor, 2 cores", "dtype": "float32"},
    }
    (out / "summary.json").write_text(json.dumps(summary))
    return out
