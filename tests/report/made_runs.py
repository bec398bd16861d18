"""Plausible finished runs: every accuracy and every ε in them is known in closed form."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.report.spends import WORDS

ROUNDS = 20
# Spend, as the columns `WORDS` -> ε after the last round; ε grows with √round.
SPENDS = {
    ("moments", "", "", "", "C", ""): 8.0,
    ("moments", "", "", "", "2C", ""): 17.0,
    ("rdp", "", "", "", "C", ""): 7.0,
    ("pld", "", "", "", "C", ""): 6.0,
    ("bayesian", "product", "remove_mean", "both_left", "", ""): 2.0,
    ("bayesian", "hoelder", "remove_mean", "both_left", "", ""): 9.0,
}
INSTANCE_SPENDS = {
    ("moments", "", "", "", "C", "sequential"): 0.2,
    ("moments", "", "", "", "2C", "sequential"): 0.5,
    ("bayesian", "product", "remove_sum", "both_left", "", "sequential"): 0.1,
    ("moments", "", "", "", "C", "parallel"): 4.0,
    ("moments", "", "", "", "2C", "parallel"): 9.0,
    ("bayesian", "product", "remove_sum", "both_left", "", "parallel"): 2.0,
}
JOINT_SPENDS = {
    ("moments", "", "", "", "C", "sum"): 1.6,
    ("bayesian", "product", "remove_sum", "both_left", "", "sum"): 0.8,
    ("moments", "", "", "", "C", "upload"): 40.0,
    ("bayesian", "product", "remove_sum", "both_left", "", "upload"): 20.0,
    **INSTANCE_SPENDS,
}
# Scheme -> what its ledger holds, and what its trace says.
SCHEMES: dict[str, tuple[Mapping[tuple[str, ...], float], dict[str, Any]]] = {
    "none": ({}, {"unit": "none"}),
    "client_dp": (
        SPENDS,
        {"unit": "client", "clip_l2": 0.3, "noise_multiplier": 3.0, "noise_std": 0.9, "share_clipped": 0.5},
    ),
    "instance": (INSTANCE_SPENDS, {"unit": "instance", "clip_l2": 1.0}),
    "joint": (JOINT_SPENDS, {"unit": "both", "clip_l2": 1.0, "noise_shares": 29}),
}


def ledger_of(spends: Mapping[tuple[str, ...], float], assumptions_met: bool, delta: float) -> pd.DataFrame:
    """Return a ledger in which the ε of `spends` are reached after the last round."""
    frames = []
    for key, epsilon in spends.items():
        words = dict(zip(WORDS, key, strict=True))
        accounting = words["accounting"]
        instance = accounting in ("sequential", "parallel")
        round = np.arange(1, ROUNDS + 1)
        values = epsilon * np.sqrt(round / ROUNDS)
        relation = {"C": "add_remove", "2C": "replace_one", "": "add_remove"}[words["sensitivity"]]
        frames.append(
            pd.DataFrame(
                {"round": round, "epsilon": values, "attacker_accuracy": 1 / (1 + np.exp(-values))}
                | words
                | {"unit": "instance" if instance else "client", "sampling_law": "poisson", "order": 4.0}
                | {"relation": "zero_out" if accounting in ("sum", "upload") else relation}
                | {"delta": 1e-5 if instance else delta}
                | {"assumptions_met": assumptions_met and accounting != "sequential"}
                | {"kind": "estimate" if words["accountant"] == "bayesian" else "guarantee"}
            )
        )
    return pd.concat(frames, ignore_index=True)


def write_run(
    directory: Path,
    run: str,
    seed: int,
    *,
    scheme: str,
    final: float = 0.9,
    clients: int = 100,
    scale: float = 1.0,
    delta: float = 1e-3,
    data: str = "digits",
    stand_in_for: str | None = None,
    note: str = "",
    copies: int = 1,
    per_example_clip: bool = False,
    assumptions_met: bool = True,
) -> Path:
    """Write a finished, accounted run whose accuracy, every second round, rises to `final` + seed/1000.

    Its ε are `scale` times those of its scheme.
    """
    out = directory / run / f"seed{seed}"
    out.mkdir(parents=True)
    spends, facts = SCHEMES[scheme]
    round = np.arange(1, ROUNDS + 1)
    accuracy = (final + seed / 1000) * round / ROUNDS
    trace = pd.DataFrame(
        {
            "round": round,
            "scheme": scheme,
            "relation": "add_remove",
            "sampling_law": "poisson",
            "population": clients,
            "expected_cohort": 0.3 * clients,
            "sampling_rate": 0.3,
            "cohort_size": int(0.3 * clients),
            "clip_l2": np.inf,
            "share_clipped": 0.0,
            "not_finite": 0,
            "clip_private": False,
            "noise_multiplier": 0.0,
            "noise_std": 0.0,
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
        | facts
    )
    if facts["unit"] in ("instance", "both"):
        bound = 1 / 120 if per_example_clip else 1.0
        trace = trace.assign(local_steps=1, rate_sequential=0.2 / clients, rate_parallel=0.2)
        trace = trace.assign(per_example_clip=per_example_clip, instance_clip_l2=bound)
        trace = trace.assign(instance_noise_multiplier=2.0, instance_noise_std=2.0 * bound)
    trace.to_parquet(out / "trace.parquet", index=False)
    scaled = {key: scale * epsilon for key, epsilon in (spends or SPENDS).items()}
    ledger = ledger_of(scaled, assumptions_met, delta)
    (ledger if spends else ledger.iloc[:0]).to_parquet(out / "ledger.parquet", index=False)
    summary = {
        "paper": "small",
        "preset": "test",
        "run": run,
        "seed": seed,
        "config": {
            "model": {"name": "cnn", "widths": [8, 16], "activation": "tanh"},
            "scheme": {"clip_l2": 0.3, "distances": 16},
            "server": {"learning_rate": final},
            "local": {"name": "fedsgd", "batch_size": 120},
            "photos": {"copies": copies},
        },
        "rounds": ROUNDS,
        "rounds_wanted": ROUNDS,
        "parameters": 1000,
        "data": {
            "name": data,
            "train": 1437,
            "test": 360,
            "repetition": 1.0,
            "stand_in_for": stand_in_for,
            "note": note,
        },
        "evaluated_on": "test",
        "environment": {"hardware": "a processor, 2 cores", "dtype": "float32"},
    }
    (out / "summary.json").write_text(json.dumps(summary))
    return out
