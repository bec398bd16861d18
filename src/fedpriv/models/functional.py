"""A `torch.nn.Module` as a pure function of its parameters, and what it must be like for that.

A network is named by its `spec`: the JSON of its import path and its arguments.
"""

from __future__ import annotations

import copy
import json
import threading
import warnings
from functools import cache
from typing import Any

import torch
from torch import nn
from torch.func import functional_call, vmap
from torch.nn.parameter import is_lazy

from fedpriv.errors import BadInput, plain
from fedpriv.models.base import Params
from fedpriv.models.module import error_text, import_object

CLASS = "a subclass of torch.nn.Module"
_building = threading.Lock()
_of_thread = threading.local()


def load_network_class(path: str) -> type[nn.Module]:
    """Return the class that an import path `package.file:Class` names (see `imported`).

    Nothing is called before it is known to be a class of networks: a function, or another class, is BadInput.
    """
    target = import_object("model.module", path, "CLASS")
    if not (isinstance(target, type) and issubclass(target, nn.Module)):
        what = f"a class {target.__name__}" if isinstance(target, type) else f"a {type(target).__name__}"
        raise BadInput(f"model.module: found {path}, {what}, allowed: {CLASS}")
    return target


def build_network(spec: str, seed: int) -> nn.Module:
    """Return the network, in training mode, its random numbers those of `seed`."""
    arguments = json.loads(spec)
    path = arguments.pop("module")
    del arguments["name"]
    make = load_network_class(path)
    with _building, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        try:
            net = make(**arguments)
        except (Exception, SystemExit) as error:
            raise BadInput(
                f"model: found {path} with {plain(', '.join(arguments))}, which cannot be made of it "
                f"({error_text(error)}), allowed: the arguments of its constructor"
            ) from error
    for name, parameter in net.named_parameters():
        if is_lazy(parameter):
            raise refusal(path, f"parameter {name}, whose shape waits for a pass", "shapes that are known")
    if not trained_parameters(net):
        raise refusal(path, "no parameter that requires a gradient", "one or more")
    return net.train()


def trained_parameters(net: nn.Module) -> dict[str, torch.Tensor]:
    """Return the parameters that are trained, in the order of the flat vector."""
    return {name: parameter for name, parameter in net.named_parameters() if parameter.requires_grad}


@cache
def constant(spec: str) -> nn.Module:
    """Return the network whose buffers and frozen parameters are everybody's: those of seed 0."""
    return build_network(spec, 0)


@torch.no_grad()
def check_network(spec: str, x: torch.Tensor, expected: tuple[int, ...] | None) -> torch.Tensor:
    """Return the outputs of the network for two examples `x`; BadInput where it cannot be trained on such.

    A pass must give the `expected` numbers of an example (None: whatever its loss reads), leave buffers
    alone, be the same twice, and treat every example by itself. Batch normalisation, dropout and the like
    do not.
    """
    path, net = json.loads(spec)["module"], disturb_network(spec)
    before = {name: buffer.clone() for name, buffer in net.named_buffers()}

    def passed(inputs: torch.Tensor) -> Any:
        try:
            return net(inputs)
        except Exception as error:
            what = list(inputs.shape)
            if not inputs.is_floating_point():
                what = f"{what} of whole numbers {int(inputs.min())} to {int(inputs.max())}"
            raise refusal(
                path, f"a pass that fails on inputs {what} ({error_text(error)})", "a network that reads them"
            ) from error

    out = passed(x)
    shape = list(out.shape) if isinstance(out, torch.Tensor) else type(out).__name__
    if not isinstance(out, torch.Tensor) or out.shape[:1] != (2,) or expected not in (None, out.shape[1:]):
        allowed = "a tensor [2, ...]" if expected is None else f"logits {[2, *expected]}, one a class"
        raise refusal(path, f"{shape} from inputs {list(x.shape)}", allowed)
    for name, buffer in net.named_buffers():
        if not torch.equal(buffer, before.get(name, buffer)):
            raise refusal(
                path, f"buffer {name}, which a pass changes", "buffers that are constants, as with GroupNorm"
            )
    if not close(passed(x), out):
        raise refusal(path, "a pass that is random, as dropout is", "the same twice")
    if not close(torch.cat([passed(x[:1]), passed(x[1:])]), out):
        allowed = "each by itself, as with GroupNorm and batch_first=True"
        raise refusal(path, "a pass that mixes examples", allowed)
    return out


def disturb_network(spec: str) -> nn.Module:
    """Return a copy of the network, a little away from its first weights.

    A layer that starts from zeros would hide what is below it.
    """
    net, rng = copy.deepcopy(constant(spec)), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in trained_parameters(net).values():
            parameter.add_(torch.randn(parameter.shape, generator=rng), alpha=0.05)
    return net


def unstackable_layer(spec: str, x: torch.Tensor) -> str:
    """Name the layer that `vmap` cannot stack, tried on two examples `x`, and why; empty: none."""
    net = disturb_network(spec)
    stacked = {name: part.detach().expand(2, *part.shape) for name, part in trained_parameters(net).items()}
    inside: list[str] = []  # the layers that a pass is in, from the outermost
    for name, layer in net.named_modules():
        words = f"{name} ({type(layer).__name__})" if name else type(layer).__name__
        layer.register_forward_pre_hook(lambda *_, words=words: inside.append(words))
        layer.register_forward_hook(lambda *_: inside.pop() and None)
    try:
        with warnings.catch_warnings(action="ignore"):  # that a rule of vmap is slow
            vmap(lambda own, example: functional_call(net, own, example[None]))(stacked, x)
    except Exception as error:
        return f"{inside[-1] if inside else 'a pass'}, which vmap cannot stack ({error_text(error)})"
    return ""


def call(spec: str, params: Params, x: torch.Tensor) -> torch.Tensor:
    """Return the logits; every thread calls a copy of its own, in which tensors are put for the while."""
    dtype = next(iter(params.values())).dtype
    nets: dict[str, nn.Module] = _of_thread.__dict__.setdefault("nets", {})
    if spec not in nets:
        nets[spec] = copy.deepcopy(constant(spec))
    tensors = params | constants(spec, x.device, dtype)
    return functional_call(nets[spec], tensors, x.to(dtype) if x.is_floating_point() else x)


@cache
def constants(spec: str, device: torch.device, dtype: torch.dtype) -> Params:
    """Return buffers and frozen parameters where and as the weights are."""
    net = constant(spec)
    fixed = {name: parameter for name, parameter in net.named_parameters() if not parameter.requires_grad}
    return {
        name: tensor.detach().to(device, dtype if tensor.is_floating_point() else tensor.dtype)
        for name, tensor in (fixed | dict(net.named_buffers())).items()
    }


def close(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Say if two passes agree but for rounding."""
    return torch.allclose(first, second, rtol=1e-3, atol=1e-4, equal_nan=True)


def refusal(path: str, fault: str, allowed: str) -> BadInput:
    """Return the error that says what of a network is in the way."""
    return BadInput(f"model.module: {path}: found {fault}, allowed: {allowed}")
