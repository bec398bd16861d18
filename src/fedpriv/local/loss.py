"""What is made small: a number for every example, of a network's outputs and the example's labels.

An example with many labels, one for every position of a sequence for instance, has the mean of their losses:
it weighs as much as any other, however long it is. Labels that are `IGNORED` count for nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field

from fedpriv.data.arrays import IGNORED
from fedpriv.errors import BadInput
from fedpriv.models.module import PATH, code, error_text, import_object

if TYPE_CHECKING:
    import torch

Shape = tuple[int, ...]
Each = Callable[["torch.Tensor", "torch.Tensor"], "torch.Tensor"]  # outputs and labels [n, ...] -> losses [n]
Reduction = Literal["none", "sum", "mean"]
DEFAULT = "cross_entropy"


def cross_entropy(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return that of logits `[n, ..., classes]` and classes `[n, ...]`, of every label."""
    from torch.nn import functional as F

    return F.cross_entropy(
        outputs.flatten(0, -2), labels.flatten(), reduction="none", ignore_index=IGNORED
    ).view(labels.shape)


def binary_cross_entropy(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return that of logits `[n, ...]` and labels 0 or 1 of the same shape, of every label."""
    from torch.nn import functional as F

    labels = labels.reshape(outputs.shape)
    return F.binary_cross_entropy_with_logits(outputs, labels.clamp(min=0).to(outputs), reduction="none")


def mean_squared_error(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return that of outputs `[n, ...]` and labels of the same shape: all of them count."""
    return (outputs - labels.reshape(outputs.shape).to(outputs)).square().flatten(1).mean(1)


def weights(labels: torch.Tensor) -> torch.Tensor:
    """Return the part of every label's loss in that of its example `[n, labels]`; 0 of an ignored one."""
    counts = (labels if labels.dim() > 1 else labels[:, None]).flatten(1) != IGNORED
    return counts / counts.sum(1, keepdim=True).clamp(min=1)


def one_a_label(classes: int, label: Shape) -> Shape:
    """Return the outputs that an example has where every label has one; a single label has one output."""
    return label or (1,)


class NamedLoss(NamedTuple):
    """A loss of the suite."""

    each: Each  # of every label, if labels are `counted`; else of every example
    counted: bool  # whether an example has the mean over its labels that are not `IGNORED`
    outputs: Callable[[int, Shape], Shape]  # how many classes, one example's labels -> its outputs
    says: Callable[[torch.Tensor], torch.Tensor] | None  # the labels that outputs mean; None: numbers
    reads: str  # labels, in words
    known: Callable[[torch.Tensor], bool]  # whether it reads such labels


LOSSES = {
    "cross_entropy": NamedLoss(
        cross_entropy,
        True,
        lambda classes, label: (*label, classes),
        lambda outputs: outputs.argmax(-1),
        "whole numbers from 0",
        lambda labels: not labels.is_floating_point(),
    ),
    "binary_cross_entropy": NamedLoss(
        binary_cross_entropy,
        True,
        one_a_label,
        lambda outputs: outputs > 0,
        "0 and 1, and -1 for what is not known",
        lambda labels: not labels.is_floating_point() and bool((labels <= 1).all()),
    ),
    "mean_squared_error": NamedLoss(
        mean_squared_error, False, one_a_label, None, "any numbers", lambda labels: True
    ),
}
# The name of a loss, or the import path of one's own: a function of outputs and labels that gives losses [n].
Name = Annotated[str, Field(pattern=f"^({'|'.join(LOSSES)}|{PATH})$")]


@cache
def load_loss(path: str) -> Each:
    """Return the function that an import path `package.file:function` names; it is not called here."""
    target: Any = import_object("loss", path, "FUNCTION")
    if not inspect.isfunction(target):
        what = f"a {type(target).__name__}"
        raise BadInput(f"loss: found {path}, {what}, allowed: a function of outputs and labels")
    return target


class Loss(NamedTuple):
    """A loss by its name, or by the import path of one's own."""

    name: str = DEFAULT

    @property
    def code(self) -> str:
        """Name and digest of code that is not ours; empty where there is none."""
        return "" if self.name in LOSSES else code(self.name, load_loss(self.name))

    def is_plain(self, labels: torch.Tensor) -> bool:
        """Say if it is the cross-entropy of one class an example, which the engines in C know."""
        return self.name == DEFAULT and labels.dim() == 1

    def outputs(self, classes: int, label: Shape) -> Shape | None:
        """Return the shape of one example's outputs; None: only a loss of one's own knows."""
        return LOSSES[self.name].outputs(classes, label) if self.name in LOSSES else None

    def of(self, outputs: torch.Tensor, labels: torch.Tensor, reduction: Reduction) -> torch.Tensor:
        """Return the losses of outputs `[n, ...]` float32, their sum over the examples, or their mean."""
        from torch.nn import functional as F

        if self.is_plain(labels):
            return F.cross_entropy(outputs, labels, reduction=reduction)
        each, weight = self._weighted(outputs, labels)
        each = each if weight is None else (each.flatten(1) * weight).sum(1)
        return each if reduction == "none" else each.sum() if reduction == "sum" else each.mean()

    def start(
        self, outputs: torch.Tensor, labels: torch.Tensor, denominator: float
    ) -> tuple[torch.Tensor, torch.Tensor, float]:
        """Return where the gradient of Σ losses / denominator starts, how large it is there, and that number.

        It is `of` with "sum", to the last bit, of which a pass backward need not know how it is added up.
        """
        import torch

        if self.is_plain(labels):
            each, weight = self.of(outputs, labels, "sum"), None
        else:
            each, weight = self._weighted(outputs, labels)
        losses = each.detach()
        if weight is None:
            return each, torch.full_like(losses, 1 / denominator), float(losses.sum() / denominator)
        total = (losses.flatten(1) * weight).sum(1).sum()
        return each, (weight * (1 / denominator)).view_as(losses), float(total / denominator)

    def _weighted(
        self, outputs: torch.Tensor, labels: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return losses of labels and `weights`, or of examples and None."""
        if self.name not in LOSSES:
            return load_loss(self.name)(outputs, labels), None
        known = LOSSES[self.name]
        return known.each(outputs, labels), weights(labels) if known.counted else None

    def predicted(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor | None:
        """Return the predicted labels, of the shape of `labels`; None where outputs mean none.

        Outputs of a loss of one's own that are one a class mean the class of the largest.
        """
        if self.name in LOSSES:
            says = LOSSES[self.name].says
            return says(outputs).view(labels.shape) if says else None
        return outputs.argmax(-1) if self.has_classes(outputs, labels) else None

    def has_classes(self, outputs: torch.Tensor, labels: torch.Tensor) -> bool:
        """Say if every label is one of some classes, and has an output for each of them."""
        if self.name in LOSSES:
            return self.name == DEFAULT
        return outputs.shape[:-1] == labels.shape and not labels.is_floating_point()

    def check(self, outputs: torch.Tensor, labels: torch.Tensor) -> None:
        """Raise BadInput unless it reads such labels, and of two outputs gives each a loss by itself."""
        import torch

        if self.name in LOSSES:
            known = LOSSES[self.name]
            if not known.known(labels):
                raise BadInput(
                    f"loss: found {self.name} with labels {labels.dtype} {float(labels.min()):g} to "
                    f"{float(labels.max()):g}, allowed: {known.reads}; losses are {', '.join(LOSSES)} or "
                    "FILE:FUNCTION"
                )
            return
        each, labels = load_loss(self.name), ends(labels)
        try:
            both: Any = each(outputs, labels)
            singly: list[Any] = [each(outputs[i : i + 1], labels[i : i + 1]) for i in range(2)]
        except Exception as error:  # somebody's code runs here
            raise self._refusal(
                f"a call that fails on outputs {list(outputs.shape)} and labels {labels.dtype} "
                f"{list(labels.shape)} ({error_text(error)})",
                "a function that reads them",
            ) from error
        if not isinstance(both, torch.Tensor) or both.shape != (2,) or not both.is_floating_point():
            made = list(both.shape) if isinstance(both, torch.Tensor) else type(both).__name__
            raise self._refusal(f"{made} of two examples", "[2], a loss for each")
        if not torch.allclose(both, torch.cat(singly), rtol=1e-3, atol=1e-4, equal_nan=True):
            raise self._refusal("a loss that mixes examples", "each by itself")

    def unstackable(self, outputs: torch.Tensor, labels: torch.Tensor) -> str:
        """Say why `vmap` cannot stack a loss of one's own, tried on two outputs; empty: it can."""
        from torch.func import vmap

        if self.name in LOSSES:
            return ""
        try:
            vmap(lambda output, label: load_loss(self.name)(output[None], label[None]))(outputs, ends(labels))
        except Exception as error:
            return f"loss {self.name}, which vmap cannot stack ({error_text(error)})"
        return ""

    def _refusal(self, fault: str, allowed: str) -> BadInput:
        return BadInput(f"loss: {self.name}: found {fault}, allowed: {allowed}")


CROSS_ENTROPY = Loss()


def ends(labels: torch.Tensor) -> torch.Tensor:
    """Return the first and the last example's labels, on CPU."""
    return labels[[0, -1]].cpu()
