"""Tiny runs on noise, trained for real."""

import numpy as np
import pandas as pd

from fedpriv.config.run import Run
from fedpriv.data import arrays
from fedpriv.local.work import Speed
from fedpriv.schemes import SCHEMES
from fedpriv.trace import MEASURED
from fedpriv.train import inputs
from fedpriv.train.loop import train

RUN = {
    "dataset": "noise",
    "partition": {"law": "iid", "clients": 8},
    "model": {"name": "cnn", "widths": [2, 4]},
    "scheme": {"name": "client_dp", "clip_l2": 0.5, "noise_multiplier": 1.0},
    "cohort": {"law": "poisson", "rate": 0.5},
    "server": {"learning_rate": 0.1, "momentum": 0.5, "schedule": "linear"},
    "rounds": 6,
    "evaluate_every": 4,
    "probe": {"clients": 3, "panel": 2},
}


def go(run, files, out, seed=0, **speed):
    run = Run.model_validate(run)
    dealt = inputs.write_partition(run, seed, files, files.parent / f"partition{seed}.npz")
    return train(run, "tiny", seed, files, dealt, out, Speed(device="cpu", **speed), {"paper": "none"})


def result(out, without=()):
    trace = pd.read_parquet(out / "trace.parquet").drop(columns=[*MEASURED, *without], errors="ignore")
    with np.load(out / "distances.npz") as file:
        distances = {name: file[name].tobytes() for name in file.files}
    return trace.to_json(), distances, (out / "model.safetensors").read_bytes()


def write_noise(path):
    """Write 80 training and 20 test images that mean nothing."""
    rng = np.random.default_rng(0)

    def split(n):
        return rng.integers(0, 256, (n, 28, 28), dtype=np.uint8), rng.integers(0, 10, n)

    return arrays.save(path, arrays.Arrays(*split(80), *split(20), classes=10))


BINARY = {
    "model": {"name": "bnn", "widths": [2, 3, 4], "sign": "stochastic"},
    "scheme": {"name": "dpfl_bnn", "gamma": 0.2},
    "cohort": {"law": "full"},
    "server": {},
    "local": {"name": "fedavg", "batch_size": 4, "optimizer": "adam", "persistent": True, "mixing": 0.3},
    "evaluation": {"models": "clients", "stride": 2, "drawn": 5},
}

PRIVATE = {"local": {"name": "fedsgd", "batch_size": 5}, "rounds": 3}
INSTANCE = {"clip_l2": 0.5, "noise_multiplier": 1.0, "distances": 3}
WEIGHTS = {
    "cohort": {"law": "fixed", "size": 4},
    "server": {},
    "local": {"name": "fedavg", "batch_size": 4, "learning_rate": 0.1},
}
BY_SCHEME = {  # what makes of RUN one run of each scheme
    "none": {"scheme": "none"},
    "client_dp": {},
    "global_dp": {
        "scheme": {
            "name": "global_dp",
            "clip": "median",
            "noise_multiplier": 1.0,
            "budget": {"epsilon": 50.0, "delta": 1e-3},
        }
    },
    "instance": {"scheme": {"name": "instance"} | INSTANCE, **PRIVATE},
    "joint": {"scheme": {"name": "joint", "per_example_clip": True} | INSTANCE, **PRIVATE},
    "split": {"scheme": {"name": "split", "server_noise_multiplier": 1.0} | INSTANCE, **PRIVATE},
    "nbafl": {
        "scheme": {"name": "nbafl", "epsilon": 10.0, "constant": 1.0, "weight_clip": 0.5},
        "hooks": {"upload_noise_std": 0.01, "clip_upload": {"bound": 5.0}},
        **WEIGHTS,
    },
    "dpfl_bnn": BINARY,
}
if "dp_ftrl" in SCHEMES:  # where fedpriv-studies is installed
    BY_SCHEME["adaptive_dp"] = {
        "scheme": {"name": "adaptive_dp", "clip_l2": 0.5, "noise_multiplier": 1.0, "count_share": 0.1}
    }
    BY_SCHEME["dp_ftrl"] = {
        "scheme": {"name": "dp_ftrl", "clip_l2": 0.5, "noise_multiplier": 1.0, "matrix": "banded"},
        "cohort": {"law": "spaced", "size": 3},
    }
