"""Plausible finished runs: every accuracy and every ε in them is known in closed form."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.paper.epsilons import SELECTOR_COLUMNS
from fedpriv.store import parquet, summary

ROUNDS = 20
# PrivacyStatement, as the columns `SELECTOR_COLUMNS` -> ε after the last round; ε grows with √round.
EPSILONS = {
    ("moments", "", "", "C", ""): 8.0,
    ("moments", "", "", "2C", ""): 17.0,
    ("rdp", "", "", "C", ""): 7.0,
    ("pld", "", "", "C", ""): 6.0,
    ("bayesian", "product", "remove_mean", "", ""): 2.0,
    ("bayesian", "hoelder", "remove_mean", "", ""): 9.0,
}
INSTANCE_EPSILONS = {
    ("moments", "", "", "C", "sequential"): 0.2,
    ("moments", "", "", "2C", "sequential"): 0.5,
    ("bayesian", "product", "remove_sum", "", "sequential"): 0.1,
    ("moments", "", "", "C", "parallel"): 4.0,
    ("moments", "", "", "2C", "parallel"): 9.0,
    ("bayesian", "product", "remove_sum", "", "parallel"): 2.0,
}
JOINT_EPSILONS = {
    ("moments", "", "", "C", "sum"): 1.6,
    ("bayesian", "product", "remove_sum", "", "sum"): 0.8,
    ("moments", "", "", "C", "upload"): 40.0,
    ("bayesian", "product", "remove_sum", "", "upload"): 20.0,
    **INSTANCE_EPSILONS,
}
BIT_EPSILONS = {
    ("exact", "", "", "bit", "upload"): 23.65,
    ("rdp", "", "", "bit", "upload"): 26.15,
    ("theorem", "", "", "bit", "upload"): 28.31,
    **{("rdp", "", "", sensitivity, "upload"): 6.7e5 for sensitivity in ("bits", "all")},
    **{("rdp", "", "", sensitivity, "sum"): 7400.0 for sensitivity in ("bits", "all")},
}
UPLOAD_EPSILONS = {("rdp", "", "", sensitivity, "upload"): 500.0 for sensitivity in ("C", "2C")}
BITS = 1000
# Scheme -> what its ledger holds, and what its trace says.
SCHEMES: dict[str, tuple[Mapping[tuple[str, ...], float], dict[str, Any]]] = {
    "none": ({}, {"unit": "none"}),
    "client_dp": (
        EPSILONS,
        {"unit": "client", "clip_l2": 0.3, "noise_multiplier": 3.0, "noise_std": 0.9, "share_clipped": 0.5},
    ),
    "instance": (INSTANCE_EPSILONS, {"unit": "instance", "clip_l2": 1.0}),
    "joint": (JOINT_EPSILONS, {"unit": "both", "clip_l2": 1.0, "noise_shares": 29}),
    "dpfl_bnn": (
        BIT_EPSILONS,
        {
            **{"unit": "client", "gamma": 0.1, "flips": "coordinate", "noisy_bits": BITS},
            **{"share_flipped": 0.4, "clear_values": 0, "upload_bytes": BITS / 8},
        },
    ),
    "nbafl": (UPLOAD_EPSILONS, {"unit": "none", "upload_l2": 0.1, "upload_noise_std": 0.004}),
}
CONFIGS: dict[str, dict[str, Any]] = {
    "dpfl_bnn": {
        "model": {"name": "bnn", "widths": [16, 16, 100], "bn": "none"},
        "scheme": {"name": "dpfl_bnn", "gamma": 0.1, "noise": "coordinate"},
        "local": {"name": "fedavg", "mixing": 0.2},
        "evaluation": {"models": "clients", "stride": 10, "drawn": 50},
    },
    "nbafl": {
        "scheme": {"name": "nbafl", "epsilon": 10.0, "constant": 1.0, "weight_clip": 0.1},
    },
}


SAME_CLIENT = "the client that holds an example stays the same"


def ledger_of(selectors: Mapping[tuple[str, ...], float], violation: str, delta: float) -> pd.DataFrame:
    """Return a ledger in which the ε of `selectors` are reached after the last round."""
    frames = []
    for key, epsilon in selectors.items():
        words = dict(zip(SELECTOR_COLUMNS, key, strict=True))
        accounting = words["accounting"]
        instance = accounting in ("sequential", "parallel")
        rounds = np.arange(1, ROUNDS + 1)
        values = epsilon * np.sqrt(rounds / ROUNDS)
        bit = words["sensitivity"] in ("bit", "bits", "all")
        fails = violation or (SAME_CLIENT if accounting == "sequential" else "")
        relation = "add_remove" if words["sensitivity"] in ("C", "") else "replace_one"
        unit = {"bit": "one bit of a client", "bits": "all bits of a client"}.get(
            words["sensitivity"], "client"
        )
        frames.append(
            pd.DataFrame(
                {"round": rounds, "epsilon": values, "attacker_accuracy": 1 / (1 + np.exp(-values))}
                | words
                | {"unit": "instance" if instance else unit, "order": 4.0}
                | {"sampling_law": "full" if bit else "poisson"}
                | {"relation": "zero_out" if accounting in ("sum", "upload") and not bit else relation}
                | {"delta": 1e-5 if instance else delta}
                | {"assumptions_met": not fails, "violation": fails}
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
    substitute_for: str | None = None,
    note: str = "",
    copies: int = 1,
    per_example_clip: bool = False,
    violation: str = "",
    drawn: float | None = None,
    facts: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
) -> Path:
    """Write a finished, accounted run whose accuracy, every second round, rises to `final` + seed/1000.

    Its ε are `scale` times those of its scheme. The accuracy of clients `drawn` is so high at round 10 and at
    no other round above that of all. `violation` is the assumption that fails. `facts` and `config` replace
    what the trace and the config of the scheme say.
    """
    out = directory / run / f"seed{seed}"
    out.mkdir(parents=True)
    selectors, own = SCHEMES[scheme]
    told = own | dict(facts or {})
    rounds = np.arange(1, ROUNDS + 1)
    accuracy = (final + seed / 1000) * rounds / ROUNDS
    trace = pd.DataFrame(
        {
            "round": rounds,
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
            "train_loss": 2.3 * np.exp(-rounds / ROUNDS),
            "test_accuracy": np.where(rounds % 2 == 0, accuracy, np.nan),
            "test_loss": 1.0,
            "seconds": 0.1,
            "peak_mib": 100.0,
        }
        | told
    )
    if drawn is not None:
        best = np.where(rounds == 10, drawn, accuracy)
        trace["test_accuracy_drawn"] = np.where(rounds % 2 == 0, best, np.nan)
    if told["unit"] in ("instance", "both"):
        bound = 1 / 120 if per_example_clip else 1.0
        trace = trace.assign(local_steps=1, rate_sequential=0.2 / clients, rate_parallel=0.2)
        trace = trace.assign(per_example_clip=per_example_clip, instance_clip_l2=bound)
        trace = trace.assign(instance_noise_multiplier=2.0, instance_noise_std=2.0 * bound)
    parquet.save_frame(trace, out / "trace.parquet")
    scaled = {key: scale * epsilon for key, epsilon in (selectors or EPSILONS).items()}
    ledger = ledger_of(scaled, violation, delta)
    parquet.save_frame(ledger if selectors else ledger.iloc[:0], out / "ledger.parquet")
    said = {
        "model": {"name": "cnn", "widths": [8, 16], "activation": "tanh"},
        "scheme": {"clip_l2": 0.3, "distances": 16},
        "server": {"learning_rate": final},
        "local": {"name": "fedsgd", "batch_size": 120},
        "photos": {"copies": copies},
    } | CONFIGS.get(scheme, {})
    told = {
        "paper": "small",
        "preset": "test",
        "run": run,
        "seed": seed,
        "results_version": 2,
        "config": said
        | {
            name: {**said.get(name, {}), **values} if isinstance(values, Mapping) else values
            for name, values in (config or {}).items()
        },
        "rounds": ROUNDS,
        "rounds_wanted": ROUNDS,
        "test_accuracy": float(trace["test_accuracy"].iloc[-1]),
        "parameters": 1000,
        "data": {
            "name": data,
            "train": 1437,
            "test": 360,
            "repetition": 1.0,
            "substitute_for": substitute_for,
            "note": note,
        },
        "evaluated_on": "test",
        "environment": {"hardware": "a processor, 2 cores", "engine": "torch, float32"},
    }
    summary.save_summary(out / "summary.json", told | {"identity": summary.identity(told)})
    return out
