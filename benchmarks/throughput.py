"""Measure what the machine's convolution gives: the second layer, forward and backward, all cores at once.

Each core works on its own batch with one thread, channels-last, as the fastest contenders do; prints one line
of JSON with GFLOP/s by dtype. It is a yardstick for the layer that is 83 % of the work, not a bound.
"""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.nn import functional as F

SECONDS = 2.0  # of each measurement
CHUNKS = (100, 200)  # examples in a batch; the better one counts
# An example: forward, gradient of the weights, gradient of the input; a multiply-add counts two.
FLOP = 3 * 2 * 14 * 14 * 32 * 16 * 25


def tensor(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.randn(shape).to(dtype, memory_format=torch.channels_last)


def examples(chunk: int, dtype: torch.dtype, until: float) -> int:
    """Return how many examples one thread works through before the clock says `until`."""
    x = tensor(dtype, chunk, 16, 14, 14).requires_grad_()
    weight = tensor(dtype, 32, 16, 5, 5).requires_grad_()
    gradient = tensor(dtype, chunk, 32, 14, 14)
    done = 0
    while time.perf_counter() < until:
        torch.autograd.grad(F.conv2d(x, weight, padding=2), (x, weight), gradient)
        done += chunk
    return done


def gflops(dtype: torch.dtype) -> float:
    """Return the best rate over the chunks, GFLOP/s of all cores together."""
    cores = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(cores, initializer=torch.set_num_threads, initargs=(1,)) as pool:

        def rate(chunk: int, seconds: float) -> float:
            until = time.perf_counter() + seconds
            work = [pool.submit(examples, chunk, dtype, until) for _ in range(cores)]
            return sum(one.result() for one in work) * FLOP / seconds / 1e9

        for chunk in CHUNKS:
            rate(chunk, SECONDS / 4)  # warms up
        return max(rate(chunk, SECONDS) for chunk in CHUNKS)


def main() -> None:
    torch.set_num_threads(1)
    found = {name: gflops(getattr(torch, name)) for name in ("float32", "bfloat16")}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
