"""Compare one client's update in W1, as each engine computes it, with float64 at the same weights.

python benchmarks/gradients.py --data resources/mnist.npz --python-others .venv/others/bin/python

Accuracies after training cannot tell engines apart: rounding alone moves them by points. Gradients can.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import work
from child import Failed
from entries import ENTRIES, Entry
from torch.nn import functional as F
from torch.nn.utils import parameters_to_vector
from workload import W1

ENGINES = (
    *(ENTRIES[name] for name in ("plain", "flower", "pfl", "ours", "ours-no-native")),
    Entry("fedpriv, stacked as on a GPU (vmap)", "stacked"),
    ENTRIES["ours-bf16"],
)


def reference(data: work.Mnist, rows: np.ndarray) -> torch.Tensor:
    """Return minus the mean gradient over `rows` [d], all in float64."""
    model = work.network(W1).double()
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
    weights = parameters_to_vector(work.network(W1).parameters()).detach()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        question, answer = Path(folder) / "question.npz", Path(folder) / "answer.npy"
        np.savez(question, weights=weights.numpy(), rows=rows)
        for engine in ENGINES:
            try:
                options = ("--data", asked.data, "--update", question, answer)
                engine.ask(W1.name, asked.python_others, *options)
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
