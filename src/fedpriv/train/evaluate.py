"""How well the round's weights do on the test (or validation) split: the server's, or every client's own."""

from __future__ import annotations

import math

import numpy as np
import torch

from fedpriv.config.run import Evaluation
from fedpriv.data.arrays import IGNORED
from fedpriv.local.engine import LocalEngine
from fedpriv.local.loss import Loss
from fedpriv.train.metrics import measured
from fedpriv.train.state import RoundState

Split = tuple[torch.Tensor, torch.Tensor]  # inputs and labels


def looked_at(how: Evaluation, device: torch.device, inputs: np.ndarray, labels: np.ndarray) -> Split:
    """Return what is looked at of a split, the same in every round: every `stride`-th example."""
    x, y = (torch.from_numpy(part[:: how.stride]).contiguous().to(device) for part in (inputs, labels))
    return x, y


def evaluate(
    engine: LocalEngine,
    how: Evaluation,
    state: RoundState,
    split: Split,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Return accuracy, mean loss and other metrics; of clients' own weights their means over all clients.

    `test_accuracy_drawn` is then that of some clients drawn with replacement by `rng`, as the released code
    of DPFL-BNN evaluates.
    """
    inputs, labels = split
    if how.models == "server":
        return one(engine, how, state.model, inputs, labels)
    assert state.clients
    every = [one(engine, how, weights, inputs, labels) for weights in state.clients.weights]
    found = np.array([[*of_one.values()] for of_one in every])
    drawn = found[rng.integers(0, len(found), how.drawn), 0].mean()
    return dict(zip(every[0], found.mean(0), strict=True)) | {"test_accuracy_drawn": drawn}


def one(
    engine: LocalEngine, how: Evaluation, flat: torch.Tensor, inputs: torch.Tensor, labels: torch.Tensor
) -> dict[str, float]:
    """Return accuracy, first, mean loss and other metrics of one vector of weights."""
    outputs, loss = engine.logits(flat, inputs), engine.task.loss
    found = {
        "test_accuracy": accuracy(loss, outputs, labels),
        "test_loss": float(loss.of(outputs, labels, "mean")),
    }
    if how.metrics and bool(outputs.isfinite().all()):  # of a network that diverges nothing is measured
        found |= measured(how.metrics, loss, outputs, labels)
    return found


def accuracy(loss: Loss, outputs: torch.Tensor, labels: torch.Tensor) -> float:
    """Return the share of the labels that count and are right; NaN where numbers are predicted."""
    said = loss.said(outputs, labels)
    if said is None:
        return math.nan
    right = said == labels
    return float((right[labels != IGNORED] if labels.dim() > 1 else right).double().mean())
