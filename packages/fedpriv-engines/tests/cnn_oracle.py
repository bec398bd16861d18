"""What the CNN's gradients are, by PyTorch in float64, one example after the other."""

from __future__ import annotations

import math

import torch
from torch.nn import functional as F

from fedpriv.models.base import unflatten
from fedpriv.models.nets import Cnn


def example(model: Cnn, classes: int, n: int, seed: int = 0):
    """Return images with large bright and dark areas, labels and weights."""
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.rand(n, 1, 9, 9, generator=generator)
    images = (255 * F.interpolate(coarse, size=(28, 28), mode="bilinear")[:, 0]).byte().contiguous()
    labels = torch.randint(0, classes, (n,), generator=generator)
    weights = torch.empty(model.size(classes))
    for view in unflatten(weights, model.shapes(classes)).values():
        size = 1 / math.sqrt(view[0].numel()) if view.dim() > 1 else 0.1
        view.copy_(size * torch.randn(view.shape, generator=generator))
    return images, labels, weights


def logits(model: Cnn, classes: int, images: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    return model.apply(unflatten(weights, model.shapes(classes)), images[:, None].double() / 255)


def gradients(model: Cnn, classes: int, images, labels, weights):
    """Return the gradient of every example `[n, d]` and the losses `[n]`, float64."""
    weights = weights.double().requires_grad_()
    rows, losses = [], []
    for image, label in zip(images, labels, strict=True):
        loss = F.cross_entropy(logits(model, classes, image[None], weights), label[None])
        rows.append(torch.autograd.grad(loss, weights)[0])
        losses.append(float(loss.detach()))
    return torch.stack(rows), losses


def narrowest(model: Cnn, classes: int, images: torch.Tensor, weights: torch.Tensor) -> float:
    """Return the least by which a maximum of a pool exceeds another of its window, but for ties.

    Where it is next to nothing, rounding decides which of the two gets the gradient.
    """
    p = unflatten(weights.double(), model.shapes(classes))
    activate = {"relu": F.relu, "tanh": torch.tanh}[model.activation]
    x, least = images[:, None].double() / 255, math.inf
    for layer in ("conv1", "conv2"):
        sums = F.conv2d(x, p[f"{layer}.weight"], p[f"{layer}.bias"], padding=model.kernel // 2)
        windows = F.unfold(sums.flatten(0, 1)[:, None], 2, stride=2)
        gaps = windows.amax(1, keepdim=True) - windows
        least = min([least, *gaps[gaps > 1e-12].tolist()])
        x = activate(F.max_pool2d(sums, 2))
    return least
