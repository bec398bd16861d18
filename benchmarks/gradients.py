"""Compare one client's update, as each engine computes it, with float64 at the same weights, without noise.

    python benchmarks/gradients.py --data resources/mnist.npz --python-others .venv/others/bin/python
    python benchmarks/gradients.py w5-dpsgd

The workload is w1 unless another one is named. Poisson batches are of their public size here.

Accuracies after training cannot tell engines apart: rounding alone moves them by points. Gradients can.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import features
import numpy as np
import pandas as pd
import torch
import work
from child import Failed
from entries import ENTRIES, Entry
from torch.nn import functional as F
from torch.nn.utils import parameters_to_vector
from workload import WORKLOADS, Workload

CHECKED = ("w1", "w4", "w5", "w5-dpsgd", "w6")  # one gradient, no order of batches
STACKED = Entry("fedpriv, stacked as on a GPU (vmap)", "stacked", races=CHECKED)


def engines(workload: Workload) -> list[Entry]:
    """Return who computes this workload and can be asked for one update."""
    every = [*ENTRIES.values(), STACKED]
    return [one for one in every if workload.name in one.races and one.contender != "checkout"]


def reference(workload: Workload, data: work.Data, rows: np.ndarray) -> torch.Tensor:
    """Return minus the mean gradient over `rows` [d], all in float64; where they are, of clipped examples."""
    model = work.network(workload).double()
    x = (
        work.floats(data.x_train[rows])
        if workload.model == "head"
        else data.x_train[rows][:, None].double() / 255
    )
    labels, bound = data.y_train[rows], workload.example_clip
    parts = [rows.shape[0]] if not bound else [1] * len(rows)
    total = torch.zeros(())
    for images, answers in zip(x.double().split(parts), labels.split(parts), strict=True):
        loss = F.cross_entropy(model(images), answers, reduction="sum")
        found = torch.cat([one.flatten() for one in torch.autograd.grad(loss, list(model.parameters()))])
        total = total + (found * min(1.0, bound / float(found.norm())) if bound else found)
    mean = -total / len(rows)
    return mean * min(1.0, workload.clip / float(mean.norm())) if workload.poisson and workload.clip else mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("workload", nargs="?", choices=CHECKED, default="w1")
    parser.add_argument("--data", type=Path, help="found below resources; without features they are made up")
    parser.add_argument("--python-others", default=sys.executable, help="has requirements.txt installed")
    asked = parser.parse_args()
    workload = WORKLOADS[asked.workload]
    path = asked.data or Path("resources") / f"{workload.arrays}.npz"
    if not path.is_file() and workload.model != "head":
        parser.error(f"--data: found no file {path}, allowed: mnist.npz (see benchmarks/README.md)")
    with features.data_for(workload, path) as path:
        table = compare(workload, path, asked.python_others)
    print(table.to_markdown(index=False, disable_numparse=True))


def compare(workload: Workload, path: Path, python_others: str) -> pd.DataFrame:
    """Return how far each engine's update is from the reference; who fails is left out with a line."""
    data = work.load(path)
    rows = work.shares(workload, data)[0][: workload.expected]
    right = reference(workload, data, rows)
    weights = parameters_to_vector(work.network(workload).parameters()).detach()
    lines: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        question, answer = Path(folder) / "question.npz", Path(folder) / "answer.npy"
        np.savez(question, weights=weights.numpy(), rows=rows)
        for engine in engines(workload):
            try:
                options = ("--data", path, "--update", question, answer)
                engine.ask(workload.name, python_others, *options)
            except Failed as failed:
                print(f"left out: {engine.label}: {failed}", file=sys.stderr)
                continue
            update = torch.from_numpy(np.load(answer)).double()
            lines.append((engine.label, f"{float((update - right).norm() / right.norm()):.1e}"))
            answer.unlink()
    return pd.DataFrame(lines, columns=["engine", "relative L2 difference from float64"])


if __name__ == "__main__":
    main()
