"""A workload as a run of fedpriv, in words of its config; without fedpriv, so that any commit can use it."""

from __future__ import annotations

from typing import Any

from workload import Workload

GAMMA = 0.1  # of the randomised response on the bits of a binary network
CHUNKS = {
    "float32": 100,
    "tf32": 100,
    "bfloat16": 200,
}  # examples in one pass; a bfloat16 takes half the cache


def model(workload: Workload) -> dict[str, Any]:
    if workload.model == "head":
        return {"name": "resnet50_head", "backbone": "random"}
    if workload.model == "bnn":
        return {"name": "bnn", "widths": list(workload.widths), "bn": "shared"}
    shape = {"kernel": workload.kernel, "activation": workload.activation}
    return {"name": "cnn", "widths": list(workload.widths)} | shape


def scheme(workload: Workload) -> dict[str, Any]:
    if workload.model == "bnn":
        return {"name": "dpfl_bnn", "gamma": GAMMA}
    if not workload.clip:
        return {"name": "none"}
    noise = {"clip_l2": workload.clip, "noise_multiplier": workload.noise}
    if not workload.poisson:
        return {"name": "client_dp"} | noise
    examples = {"per_example_clip": workload.example_clip is not None, "distances": workload.distances}
    bound = {"example_clip_l2": workload.example_clip} if workload.example_clip else {}
    return {"name": "joint"} | noise | examples | bound


def local(workload: Workload) -> dict[str, Any]:
    if workload.optimizer == "SGD":  # one step at rate 1: the gradient
        return {"name": "fedsgd"} | ({"batch_size": workload.batch} if workload.poisson else {})
    steps = {"steps": workload.steps, "batch_size": workload.batch}
    return {"name": "fedavg", "optimizer": "adam", "learning_rate": workload.local_rate} | steps


def run(workload: Workload, rounds: int) -> dict[str, Any]:
    """Return what a run's config says, as other contenders are told it; only its last round is evaluated."""
    images = {"photos": {"copies": workload.copies}} if workload.model == "head" else {}
    dealt = {"law": "iid", "clients": workload.clients, "examples": workload.each}
    return images | {
        "dataset": workload.arrays.split("-")[0],
        "partition": dealt | {"repeat": workload.clients > 100},
        "model": model(workload),
        "scheme": scheme(workload),
        "cohort": {"law": "fixed", "size": workload.cohort},
        "local": local(workload),
        "server": {"learning_rate": workload.rate},
        "rounds": rounds,
        "evaluate_every": rounds,
        "probe": {"clients": 0 if workload.poisson else workload.distances, "panel": 0},
    }
