"""Measure what the machine's convolution gives: a workload's second layer, forward and backward, all cores.

    python throughput.py w1

Each core works on its own batch with one thread, channels-last, as the fastest contenders do; prints one line
of JSON with GFLOP/s by dtype. It is a yardstick for the layer that is most of the work, not a bound.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.nn import functional as F
from workload import WORKLOADS, Workload

SECONDS = 2.0  # of each measurement
CHUNKS = (100, 200)  # examples in a batch, at most a client's own; the better one counts
SIDE = 14  # pixels, after the first pooling


def flop(workload: Workload) -> int:
    """Return the operations of an example: forward, gradients of weights and input; a multiply-add is two."""
    first, second, _ = workload.widths
    return 3 * 2 * SIDE**2 * first * second * workload.kernel**2


def tensor(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.randn(shape).to(dtype, memory_format=torch.channels_last)


def examples(workload: Workload, chunk: int, dtype: torch.dtype, until: float) -> int:
    """Return how many examples one thread works through before the clock says `until`."""
    (first, second, _), kernel = workload.widths, workload.kernel
    x = tensor(dtype, chunk, first, SIDE, SIDE).requires_grad_()
    weight = tensor(dtype, second, first, kernel, kernel).requires_grad_()
    gradient = tensor(dtype, chunk, second, SIDE, SIDE)
    done = 0
    while time.perf_counter() < until:
        torch.autograd.grad(F.conv2d(x, weight, padding=kernel // 2), (x, weight), gradient)
        done += chunk
    return done


def gflops(workload: Workload, dtype: torch.dtype) -> float:
    """Return the best rate over the chunks, GFLOP/s of all cores together."""
    cores = len(os.sched_getaffinity(0))
    chunks = sorted({min(chunk, workload.batch) for chunk in CHUNKS})
    with ThreadPoolExecutor(cores, initializer=torch.set_num_threads, initargs=(1,)) as pool:

        def rate(chunk: int, seconds: float) -> float:
            until = time.perf_counter() + seconds
            work = [pool.submit(examples, workload, chunk, dtype, until) for _ in range(cores)]
            return sum(one.result() for one in work) * flop(workload) / seconds / 1e9

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
