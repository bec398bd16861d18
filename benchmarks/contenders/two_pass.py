"""Every example clipped in two passes, with torch.func.

Norms come from what each layer reads and what comes back to it, the sum from one backward pass of losses
weighted by how much each example is scaled down.
"""

from __future__ import annotations

from functools import partial

import torch
import work
from torch import nn
from torch.func import functional_call, vjp
from torch.nn import functional as F
from workload import Workload

from contenders import plain


def local_update(
    workload: Workload, model: nn.Module, images: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    """Return minus the sum of clipped gradients over the public size of a batch [d]."""
    assert workload.example_clip
    x = work.floats(images)
    scales = (workload.example_clip / squared_norms(model, x, labels).sqrt()).clamp(max=1)
    parameters = {name: one.detach() for name, one in model.named_parameters()}

    def losses(parameters: dict[str, torch.Tensor]) -> torch.Tensor:
        return F.cross_entropy(functional_call(model, parameters, (x,)), labels, reduction="none")

    (gradients,) = vjp(losses, parameters)[1](scales)
    return -torch.cat([one.flatten() for one in gradients.values()]) / workload.batch


def squared_norms(model: nn.Module, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the squared norm of every example's gradient [n]; no gradient of the weights is computed."""
    read: list[tuple[nn.Module, torch.Tensor, torch.Tensor]] = []

    def watch(layer: nn.Module, inputs: tuple[torch.Tensor], output: torch.Tensor) -> torch.Tensor:
        watched = output if output.requires_grad else output.requires_grad_()
        read.append((layer, inputs[0].detach(), watched))
        return watched

    layers = [one for one in model.modules() if isinstance(one, nn.Conv2d | nn.Linear)]
    hooks = [layer.register_forward_hook(watch) for layer in layers]
    frozen = {name: one.detach() for name, one in model.named_parameters()}
    loss = F.cross_entropy(functional_call(model, frozen, (x,)), labels, reduction="sum")
    for hook in hooks:
        hook.remove()
    back = torch.autograd.grad(loss, [output for _, _, output in read])
    squares = (of_layer(layer, inputs, one) for (layer, inputs, _), one in zip(read, back, strict=True))
    return torch.stack(list(squares)).sum(0)


def of_layer(layer: nn.Module, inputs: torch.Tensor, back: torch.Tensor) -> torch.Tensor:
    """Return the squared norm of every example's gradient of a layer's weight and bias [n]."""
    if isinstance(layer, nn.Linear):
        return back.square().sum(1) * (inputs.square().sum(1) + 1)
    assert isinstance(layer, nn.Conv2d)
    columns = F.unfold(inputs, layer.kernel_size, padding=layer.padding)  # pyright: ignore[reportArgumentType]
    weight = torch.bmm(back.flatten(2), columns.transpose(1, 2))
    return weight.square().sum((1, 2)) + back.sum((2, 3)).square().sum(1)


race, update = (partial(one, local_update=local_update) for one in (plain.race, plain.update))
