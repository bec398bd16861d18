"""Opacus: DP-SGD on examples, and the trace of it.

Needs `pip install opacus scikit-learn`; writes trace.csv into the folder that is named.
"""

import csv
import sys
from pathlib import Path

import torch
from opacus import PrivacyEngine
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

EPOCHS, BATCH, DELTA = 2, 64, 1e-5
NOISE_MULTIPLIER, CLIP_L2 = 1.1, 1.0


def train(accountant: str) -> tuple[list[dict[str, object]], float]:
    """Return the trace, a row for all steps that are alike, and the ε that this accountant counts."""
    torch.manual_seed(0)
    pixels, labels = load_digits(return_X_y=True)
    examples = TensorDataset(torch.tensor(pixels / 16, dtype=torch.float32), torch.tensor(labels))
    model = torch.nn.Linear(64, 10)
    engine = PrivacyEngine(accountant=accountant)
    model, optimiser, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
        data_loader=DataLoader(examples, batch_size=BATCH),
        noise_multiplier=NOISE_MULTIPLIER,
        max_grad_norm=CLIP_L2,
    )
    for _ in range(EPOCHS):
        for x, y in loader:
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimiser.step()
    rows = [
        {
            "unit": "instance",
            "sampling_law": "poisson",
            "sampling_rate": rate,
            "noise_multiplier": multiplier,
            "releases": steps,
        }
        for multiplier, rate, steps in engine.accountant.history
    ]
    return rows, engine.get_epsilon(DELTA)


if __name__ == "__main__":
    for accountant in ("prv", "rdp"):
        rows, epsilon = train(accountant)
        print(f"Opacus, {accountant}: epsilon {epsilon:.6f}")
    with (Path(sys.argv[1]) / "trace.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
