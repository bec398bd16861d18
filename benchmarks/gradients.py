"""Compare one client's update, as each engine computes it, with a float64 reference at the same weights.

python benchmarks/gradients.py --data resources/mnist.npz --python-others .venv/others/bin/python

Accuracies after training cannot tell engines apart: rounding alone moves them by points. Gradients can.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
import work
from child import Failed, ask
from torch.nn import functional as F
from torch.nn.utils import parameters_to_vector


class Engine(NamedTuple):
    label: str
    contender: str
    others: bool = False
    dtype: str = "float32"
    environment: Mapping[str, str] = {}


ENGINES = (
    Engine("plain loop", "plain"),
    Engine("Flower", "flower", others=True),
    Engine("pfl-research", "pfl", others=True),
    Engine("fedpriv", "ours"),
    Engine("fedpriv, without its native kernel", "ours", environment={"FEDPRIV_NATIVE": "0"}),
    Engine("fedpriv, stacked as on a GPU (vmap)", "stacked"),
    Engine("fedpriv, bfloat16 arithmetic", "ours", dtype="bfloat16"),
)


def reference(data: work.Mnist, rows: np.ndarray) -> torch.Tensor:
    """Return minus the mean gradient over `rows` [d], all in float64."""
    model = work.network().double()
    x = data.x_train[rows][:, None].double() / 255
    F.cross_entropy(model(x), data.y_train[rows]).backward()
    return -torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("resources/mnist.npz"))
    parser.add_argument("--python-others", default=sys.executable, help="has requirements.txt installed")
    asked = parser.parse_args()
    if not asked.data.is_file():
        parser.error(f"--data: found no file {asked.data}, allowed: mnist.npz (see benchmarks/README.md)")
    rows = work.split()[0]
    right = reference(work.load(asked.data), rows)
    weights = parameters_to_vector(work.network().parameters()).detach()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        question, answer = Path(folder) / "question.npz", Path(folder) / "answer.npy"
        np.savez(question, weights=weights.numpy(), rows=rows)
        for engine in ENGINES:
            try:
                found = ask(
                    asked.python_others if engine.others else sys.executable,
                    "contend.py",
                    engine.contender,
                    *("--data", asked.data, "--dtype", engine.dtype, "--update", question, answer),
                    environment=engine.environment,
                )
                if "left_out" in found:
                    raise Failed(found["left_out"])
            except Failed as failed:
                print(f"left out: {engine.label}: {failed}", file=sys.stderr)
                continue
            update = torch.from_numpy(np.load(answer)).double()
            lines.append((engine.label, f"{float((update - right).norm() / right.norm()):.1e}"))
            answer.unlink()
    table = pd.DataFrame(lines, columns=["engine", "relative L2 difference from float64"])
    print(table.to_markdown(index=False, disable_numparse=True))


if __name__ == "__main__":
    main()
