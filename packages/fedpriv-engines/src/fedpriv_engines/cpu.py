"""What fedpriv finds by the entry point `cpu` of the group `fedpriv_engines`: engines in C.

A model names the engine that knows it, with its arguments (`Model.gradient_engine`, `Model.step_engine`);
there is none where nothing could be compiled, or where the data are not what C reads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from fedpriv.local.threads import Steps
from fedpriv.local.work import FedAvg
from fedpriv.models.base import Engine
from fedpriv_engines import native
from fedpriv_engines.native import steps
from fedpriv_engines.native.gradients import CompiledGradients, cnn_engine, head_engine

Read = tuple[torch.dtype, tuple[int, ...]]  # of the inputs: their dtype, the shape of one
IMAGES: Read = (torch.uint8, (28, 28))


def why_not() -> list[str]:
    """List the reasons why engines are not available, a line each."""
    return sorted({native.why_not(name) for name in native.UNITS if not native.available(name)})


def gradient_engine(engine: Engine | None, read: Read) -> CompiledGradients | None:
    """Return the engine of gradients that a model names; None: there is none for such inputs."""
    if engine is None:
        return None
    net = {"cnn": cnn_engine, "head": head_engine}[engine[0]](*engine[1:])
    return net if net.available() and read == (net.dtype, net.inputs) else None


class MlpSteps(NamedTuple):
    """Plain SGD of dense layers: a step is the gradient times the rate, and nothing else."""

    net: steps.MlpNet

    @property
    def name(self) -> str:
        """Unit, and a digest of its sources."""
        return native.engine_name(self.net.unit)

    def knows(self, work: FedAvg) -> bool:
        """Say whether `take` takes the steps of this work."""
        return work.optimizer == "sgd" and not (work.momentum or work.proximal or work.clip_gradient)

    def take(self, asked: Steps) -> float:
        """Take the steps, in place; return the loss on the last mini-batch."""
        return steps.train_mlp(self.net, *asked.batches, asked.kept.weights, asked.work.learning_rate)

    def logits(self, inputs: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Return the logits `[n, classes]` of images `[n, 28, 28]` uint8."""
        return steps.mlp_logits(self.net, inputs, weights)


class SmallSteps(NamedTuple):
    """Adam of the small network, binary or not."""

    net: steps.SmallNet

    @property
    def name(self) -> str:
        """Unit, and a digest of its sources."""
        return native.engine_name(self.net.unit)

    def knows(self, work: FedAvg) -> bool:
        """Say whether `take` takes the steps of this work."""
        return work.optimizer == "adam"

    def take(self, asked: Steps) -> float:
        """Take the steps, in place; return the loss on the last mini-batch."""
        work, kept = asked.work, asked.kept
        before = int(kept.steps)
        kept.steps.add_(len(asked.plan))
        how = steps.Adam(work.learning_rate, *work.adam_betas, work.proximal, work.clip_gradient or 0.0)
        state = kept.weights, kept.first, kept.second, before
        drawn = None if asked.uniforms is None else asked.uniforms[:-1]
        return steps.train_small(self.net, *asked.batches, *state, how, asked.start, drawn)

    def logits(self, inputs: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Return the logits `[n, classes]` of images `[n, 28, 28]` uint8."""
        return steps.small_logits(self.net, inputs, weights)


def step_engine(engine: Engine | None, read: Read) -> MlpSteps | SmallSteps | None:
    """Return the engine of local steps that a model names; None: there is none for such inputs."""
    if engine is None or not native.available(engine[0]) or read != IMAGES:
        return None
    arguments: Any = engine[1:]
    if engine[0] == "mlp":
        return MlpSteps(steps.MlpNet(*arguments))
    net = steps.SmallNet(*arguments)
    return SmallSteps(net) if net.classes <= steps.CLASSES else None
