"""Measure what the machine gives: a workload's largest layer, forward and backward, all cores.

    python throughput.py w1

Each core works on its own batch with one thread, channels-last, as the fastest contenders do; prints one line
of JSON with GFLOP/s by dtype. It is a yardstick for the layer that is most of the work, not a bound.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import torch
from torch.nn import functional as F
from workload import WORKLOADS, Workload

SECONDS = 2.0  # of each measurement
CHUNKS = (100, 200)  # examples in a batch, at most a client's own; the better one counts
SIDE = 14  # pixels, after the first pooling


class Layer(NamedTuple):
    """A layer as torch calls it, and its shapes; `grads` says whether its input needs a gradient."""

    name: str
    call: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    reads: tuple[int, ...]  # of one example
    weight: tuple[int, ...]
    gives: tuple[int, ...]
    grads: bool


def layer(workload: Workload) -> Layer:
    """Return the layer that is most of a workload's work."""
    if workload.model == "head":
        (reads,), gives = workload.widths, workload.classes
        return Layer("head", F.linear, (reads,), (gives, reads), (gives,), grads=False)
    first, second, *_ = workload.widths
    convolve = partial(F.conv2d, padding=workload.kernel // 2)
    square = (workload.kernel, workload.kernel)
    return Layer(
        "second convolution",
        convolve,
        (first, SIDE, SIDE),
        (second, first, *square),
        (second, SIDE, SIDE),
        grads=True,
    )


def what(workload: Workload) -> str:
    """Return the name of the layer."""
    return layer(workload).name


def flop(layer: Layer) -> int:
    """Return the operations of an example: forward, gradients of weights and input; a multiply-add is two."""
    return (3 if layer.grads else 2) * 2 * math.prod(layer.weight) * math.prod(layer.gives[1:])


def tensor(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    made = torch.randn(shape).to(dtype)
    return made.contiguous(memory_format=torch.channels_last) if len(shape) == 4 else made


def examples(layer: Layer, chunk: int, dtype: torch.dtype, until: float) -> int:
    """Return how many examples one thread works through before the clock says `until`."""
    x = tensor(dtype, chunk, *layer.reads).requires_grad_(layer.grads)
    weight = tensor(dtype, *layer.weight).requires_grad_()
    gradient = tensor(dtype, chunk, *layer.gives)
    wanted = (x, weight) if layer.grads else (weight,)
    done = 0
    while time.perf_counter() < until:
        torch.autograd.grad(layer.call(x, weight), wanted, gradient)
        done += chunk
    return done


def gflops(workload: Workload, dtype: torch.dtype) -> float:
    """Return the best rate over the chunks, GFLOP/s of all cores together."""
    measured, cores = layer(workload), len(os.sched_getaffinity(0))
    chunks = sorted({min(chunk, workload.batch) for chunk in CHUNKS})
    with ThreadPoolExecutor(cores, initializer=torch.set_num_threads, initargs=(1,)) as pool:

        def rate(chunk: int, seconds: float) -> float:
            until = time.perf_counter() + seconds
            work = [pool.submit(examples, measured, chunk, dtype, until) for _ in range(cores)]
            return sum(one.result() for one in work) * flop(measured) / seconds / 1e9

        for chunk in chunks:
            rate(chunk, SECONDS / 4)  # warms up
        return max(rate(chunk, SECONDS) for chunk in chunks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("workload", choices=WORKLOADS)
    workload = WORKLOADS[parser.parse_args().workload]
    torch.set_num_threads(1)
    print(json.dumps({name: gflops(workload, getattr(torch, name)) for name in ("float32", "bfloat16")}))


if __name__ == "__main__":
    main()
