"""Run one contender in this process and print one line of JSON: what it did, how fast, in how much memory.

    python contend.py w2 plain --data mnist.npz --rounds 3
    python contend.py w1 ours --data mnist.npz --dtype bfloat16 --update question.npz answer.npy

The second form answers for one client: `question.npz` holds weights [d] and rows, the update goes to
`answer.npy`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from workload import WORKLOADS, Workload

NAMES = (
    "plain",
    "flower",
    "pfl",
    "pfl_two",
    "fedlab",
    "opacus",
    "opacus_ghost",
    "two_pass",
    "ours",
    "stacked",
    "vmap_by_hand",
    "jax_by_hand",
    "checkout",
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("contender", choices=NAMES)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--dtype", choices=("float32", "tf32", "bfloat16"), default="float32")
    parser.add_argument("--rounds", type=int, help="timed, after those of warm-up")
    parser.add_argument("--update", type=Path, nargs=2, metavar=("QUESTION", "ANSWER"))
    return parser.parse_args()


def race(asked: argparse.Namespace, workload: Workload, contender: Any) -> dict[str, Any]:
    import torch
    from laps import Laps, peak_mib

    laps = Laps(workload, asked.rounds or workload.rounds)
    facts = contender.race(workload, asked.data.resolve(), laps, asked.dtype)
    own = peak_mib()
    return (
        laps.report()
        | {
            "peak_mib": own + facts.get("actors_peak_mib", 0.0),
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
        }
        | facts
    )


def answer(asked: argparse.Namespace, workload: Workload, contender: Any) -> dict[str, Any]:
    import numpy as np
    import torch

    question, path = np.load(asked.update[0]), asked.update[1]
    weights = torch.from_numpy(question["weights"])
    update = contender.update(workload, asked.data.resolve(), weights, question["rows"], asked.dtype)
    np.save(path, update.detach().numpy())
    return {"answer": str(path)}


def main() -> None:
    asked = arguments()
    # What contenders print is moved out of the way of the one line.
    line, sys.stdout = sys.stdout, sys.stderr
    os.environ |= {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    work = answer if asked.update else race
    try:
        contender = importlib.import_module(f"contenders.{asked.contender}")
    except ImportError as error:
        found: dict[str, Any] = {"left_out": f"cannot import: {error}"}
    else:
        found = work(asked, WORKLOADS[asked.workload], contender)
    who = {"workload": asked.workload, "contender": asked.contender, "dtype": asked.dtype}
    print(json.dumps(who | found), file=line)


if __name__ == "__main__":
    main()
