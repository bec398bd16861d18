"""How well the round's weights do on the test (or validation) split: the server's, or every client's own.

Labels that are ignored count for nothing. Where outputs do not mean what a metric is about it is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from fedpriv.config.run import Evaluation
from fedpriv.data.arrays import IGNORED, Arrays
from fedpriv.errors import BadInput
from fedpriv.local.client import LocalEngine
from fedpriv.local.loss import Loss
from fedpriv.train.record import RoundState

NOTHING: dict[str, Any] = {"zero_division": 0}  # the score of a class that nobody says
Pair = tuple[np.ndarray, np.ndarray]  # of one class or label: which examples have it, what says so


def perplexity(loss: Loss, outputs: torch.Tensor, labels: torch.Tensor) -> float:
    """Return exp of the mean cross-entropy over all labels that count."""
    if not loss.has_classes(outputs, labels):
        return math.nan
    counts = label_mask(labels).flatten()
    return math.exp(float(F.cross_entropy(outputs.flatten(0, -2)[counts], labels.flatten()[counts])))


def auroc(loss: Loss, outputs: torch.Tensor, labels: torch.Tensor) -> float:
    """Return the area under the ROC curve, the mean over classes, each against all others, or over labels.

    One that all examples have, or none, has no such area and is left out.
    """
    from sklearn.metrics import roc_auc_score

    scores = outputs.softmax(-1) if loss.has_classes(outputs, labels) else outputs
    areas = [
        float(roc_auc_score(truth, score))
        for truth, score in pairs(loss, scores, outputs, labels)
        if truth.any() and not truth.all()
    ]
    return float(np.mean(areas)) if areas else math.nan


def f1(loss: Loss, outputs: torch.Tensor, labels: torch.Tensor) -> float:
    """Return the F1 score, the mean over the classes that there are or that are said, or over labels."""
    from sklearn.metrics import f1_score

    predicted = loss.predicted(outputs, labels)
    if predicted is None:
        return math.nan
    counts = label_mask(labels)
    if loss.has_classes(outputs, labels):
        truth, answers = labels[counts].cpu().numpy(), predicted[counts].cpu().numpy()
        return float(f1_score(truth, answers, average="macro", **NOTHING))
    every = pairs(loss, predicted.view(outputs.shape).float(), outputs, labels)
    return float(np.mean([f1_score(truth, score > 0, **NOTHING) for truth, score in every]))


def error(loss: Loss, outputs: torch.Tensor, labels: torch.Tensor) -> float:
    """Return the mean absolute error of predicted numbers."""
    if loss.predicted(outputs, labels) is not None or outputs.numel() != labels.numel():
        return math.nan
    return float((outputs - labels.view(outputs.shape)).abs().mean())


def pairs(loss: Loss, scores: torch.Tensor, outputs: torch.Tensor, labels: torch.Tensor) -> Iterator[Pair]:
    """Yield, of every class or else of every label, which examples have it and the scores that say so."""
    if loss.has_classes(outputs, labels):
        counts = label_mask(labels)
        for label, column in enumerate(scores[counts].unbind(1)):
            yield (labels[counts] == label).cpu().numpy(), column.cpu().numpy()
    elif loss.predicted(outputs, labels) is not None:
        for truth, column in zip(
            labels.view(outputs.shape).flatten(1).unbind(1), scores.flatten(1).unbind(1), strict=True
        ):
            counts = truth != IGNORED
            yield (truth[counts] == 1).cpu().numpy(), column[counts].cpu().numpy()


def label_mask(labels: torch.Tensor) -> torch.Tensor:
    """Mask of the labels that count: of examples that have one, all."""
    return labels != IGNORED if labels.dim() > 1 else torch.ones_like(labels, dtype=torch.bool)


METRICS: dict[str, Callable[[Loss, torch.Tensor, torch.Tensor], float]] = {
    "perplexity": perplexity,
    "auroc": auroc,
    "f1": f1,
    "error": error,
}


OF_OWNERS: dict[str, Callable[[np.ndarray], float]] = {"worst_owner": np.min, "owner_std": np.std}

Split = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # inputs, labels, and owners, if anybody knows them


def test_split(how: Evaluation, device: torch.device, data: Arrays) -> Split:
    """Every `stride`-th test example, the same ones in every round, on the device.

    A metric of owners is BadInput where nobody knows whose a test example is.
    """
    if (of_owners := [name for name in how.metrics if name in OF_OWNERS]) and not len(data.owner_test):
        raise BadInput(
            f"evaluation.metrics: found {of_owners[0]} with test examples of which nobody knows the owners, "
            "allowed: with owner_test in an npz file, or with validation examples whose owners are known"
        )
    parts = data.x_test, data.y_test, data.owner_test
    x, y, owners = (torch.from_numpy(part[:: how.stride]).contiguous().to(device) for part in parts)
    return x, y, owners


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
    if how.models == "server":
        return evaluate_weights(engine, how, state.model, split)
    assert state.clients
    of_clients = [evaluate_weights(engine, how, weights, split) for weights in state.clients.weights]
    values = np.array([[*metrics.values()] for metrics in of_clients])
    drawn = values[rng.integers(0, len(values), how.drawn), 0].mean()
    return dict(zip(of_clients[0], values.mean(0), strict=True)) | {"test_accuracy_drawn": drawn}


def evaluate_weights(
    engine: LocalEngine, how: Evaluation, flat: torch.Tensor, split: Split
) -> dict[str, float]:
    """Accuracy, first, mean loss and other metrics of one vector of weights."""
    inputs, labels, owners = split
    outputs, loss = engine.logits(flat, inputs), engine.task.loss
    values = {
        "test_accuracy": accuracy(loss, outputs, labels),
        "test_loss": float(loss.of(outputs, labels, "mean")),
    }
    if how.metrics and bool(outputs.isfinite().all()):  # of a network that diverges nothing is measured
        names = [name for name in how.metrics if name in METRICS]
        values |= {f"test_{name}": METRICS[name](loss, outputs, labels) for name in names}
        if of_owners := [name for name in how.metrics if name in OF_OWNERS]:
            every = [owners == owner for owner in owners.unique()]
            by_owner = np.array([accuracy(loss, outputs[own], labels[own]) for own in every])
            values |= {f"test_{name}": float(OF_OWNERS[name](by_owner)) for name in of_owners}
    return values


def accuracy(loss: Loss, outputs: torch.Tensor, labels: torch.Tensor) -> float:
    """Return the share of the labels that count and are right; NaN where numbers are predicted."""
    predicted = loss.predicted(outputs, labels)
    if predicted is None:
        return math.nan
    right = predicted == labels
    return float((right[labels != IGNORED] if labels.dim() > 1 else right).double().mean())
