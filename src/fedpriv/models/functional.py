"""A `torch.nn.Module` as a pure function of its parameters, and what it must be like for that.

A network is named by its `spec`: the JSON of its import path and its arguments.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import inspect
import json
import os
import sys
import threading
from functools import cache, reduce
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.func import functional_call, vmap
from torch.nn.parameter import is_lazy

from fedpriv.errors import BadInput, plain
from fedpriv.models.base import Example, Params

CLASS = "a subclass of torch.nn.Module"
_building = threading.Lock()
_of_thread = threading.local()


def loaded(path: str) -> type[nn.Module]:
    """Return the class that an import path `package.file:Class` names; the folder one is in comes last.

    Importing runs the file, which is trusted. Nothing in it is called before it is known to be a class of
    networks: a function, or another class, is BadInput, and so is a module of Python's own, which has none
    and of which some do things when they are imported.
    """
    module, name = path.split(":")
    if module.partition(".")[0] in sys.stdlib_module_names:
        raise BadInput(f"model.module: found {path}, of Python's own library, allowed: {CLASS}")
    if (here := os.getcwd()) not in sys.path:
        sys.path.append(here)
    try:
        found: Any = reduce(getattr, name.split("."), importlib.import_module(module))
    except (Exception, SystemExit) as error:  # somebody's code runs here
        raise BadInput(
            f"model.module: found {path}, which cannot be imported ({said(error)}), allowed: FILE:CLASS, of "
            "an installed package or in the folder where the program is started"
        ) from error
    if not (isinstance(found, type) and issubclass(found, nn.Module)):
        what = f"a class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"
        raise BadInput(f"model.module: found {path}, {what}, allowed: {CLASS}")
    return found


def code(path: str) -> str:
    """Return an import path with a digest of the file that it leads to."""
    try:
        source = inspect.getsourcefile(loaded(path))
    except TypeError:  # a class of a module without a file
        source = None
    digest = hashlib.sha256(Path(source).read_bytes()).hexdigest()[:8] if source else "without source"
    return f"{path} {digest}"


def built(spec: str, seed: int) -> nn.Module:
    """Return the network, in training mode, its random numbers those of `seed`."""
    arguments = json.loads(spec)
    path = arguments.pop("module")
    del arguments["name"]
    make = loaded(path)
    with _building, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        try:
            net = make(**arguments)
        except (Exception, SystemExit) as error:
            raise BadInput(
                f"model: found {path} with {plain(', '.join(arguments))}, which cannot be made of it "
                f"({said(error)}), allowed: the arguments of its constructor"
            ) from error
    for name, parameter in net.named_parameters():
        if is_lazy(parameter):
            raise refusal(path, f"parameter {name}, whose shape waits for a pass", "shapes that are known")
    if not trained(net):
        raise refusal(path, "no parameter that requires a gradient", "one or more")
    return net.train()


def trained(net: nn.Module) -> dict[str, torch.Tensor]:
    """Return the parameters that are trained, in the order of the flat vector."""
    return {name: one for name, one in net.named_parameters() if one.requires_grad}


@cache
def places(spec: str) -> dict[str, str]:
    """Return every place of a parameter or buffer and its name; one that is tied has a name and many places.

    They are those of every copy, too. A module that stands in a network twice is one place, or torch would
    not put back what was there before.
    """
    net = constant(spec)
    names = {one: name for name, one in (*net.named_parameters(), *net.named_buffers())}
    return {
        f"{at}.{name}" if at else name: names[one]
        for at, module in net.named_modules()
        for name, one in (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False))
    }


@cache
def constant(spec: str) -> nn.Module:
    """Return the network whose buffers and frozen parameters are everybody's: those of seed 0."""
    return built(spec, 0)


@cache
@torch.no_grad()
def checked(spec: str, classes: int, example: Example) -> nn.Module:
    """Return the network, if it can be trained here; else BadInput that names what is in the way.

    A pass must give one number a class, leave buffers alone, be the same twice, treat every example by
    itself, and go through `vmap`. Batch normalisation, dropout and the like do not.
    """
    path, net = json.loads(spec)["module"], copy.deepcopy(constant(spec))
    rng = torch.Generator().manual_seed(0)
    x = torch.rand(2, *example, generator=rng)
    for one in trained(net).values():  # a layer that starts from zeros would hide what is below it
        one.add_(torch.randn(one.shape, generator=rng), alpha=0.05)
    before = {name: one.clone() for name, one in net.named_buffers()}

    def passed(inputs: torch.Tensor) -> Any:
        try:
            return net(inputs)
        except Exception as error:
            shape = list(inputs.shape)
            raise refusal(
                path, f"a pass that fails on inputs {shape} ({said(error)})", "a network that reads them"
            ) from error

    out = passed(x)
    if not isinstance(out, torch.Tensor) or out.shape != (2, classes):
        made = list(out.shape) if isinstance(out, torch.Tensor) else type(out).__name__
        raise refusal(path, f"{made} from inputs {list(x.shape)}", f"logits [2, {classes}], one a class")
    for name, one in net.named_buffers():
        if not torch.equal(one, before.get(name, one)):
            raise refusal(
                path, f"buffer {name}, which a pass changes", "buffers that are constants, as with GroupNorm"
            )
    if not close(passed(x), out):
        raise refusal(path, f"a pass that is random{layers(net, 'Dropout')}", "the same twice")
    if not close(torch.cat([passed(x[:1]), passed(x[1:])]), out):
        raise refusal(
            path, f"a pass that mixes examples{layers(net, 'BatchNorm')}", "each by itself, as with GroupNorm"
        )
    stacked = {name: one.expand(2, *one.shape) for name, one in trained(net).items()}
    try:
        vmap(lambda own, one: called(spec, net, own, one[None]))(stacked, x)
    except Exception as error:
        raise refusal(path, f"a pass that vmap cannot stack ({said(error)})", "one that it can") from error
    return net


def call(spec: str, params: Params, x: torch.Tensor) -> torch.Tensor:
    """Return the logits; every thread calls a copy of its own, in which tensors are put for the while."""
    dtype = next(iter(params.values())).dtype
    nets = _of_thread.__dict__.setdefault("nets", {})
    if spec not in nets:
        nets[spec] = copy.deepcopy(constant(spec))
    return called(spec, nets[spec], params | constants(spec, x.device, dtype), x.to(dtype))


@cache
def constants(spec: str, device: torch.device, dtype: torch.dtype) -> Params:
    """Return buffers and frozen parameters where and as the weights are."""
    net = constant(spec)
    fixed = {name: one for name, one in net.named_parameters() if not one.requires_grad}
    return {
        name: one.detach().to(device, dtype if one.is_floating_point() else one.dtype)
        for name, one in (fixed | dict(net.named_buffers())).items()
    }


def called(spec: str, net: nn.Module, tensors: Params, x: torch.Tensor) -> torch.Tensor:
    """Return what a copy of the network makes of `x` with these tensors in their places, else its own."""
    own = {at: tensors[name] for at, name in places(spec).items() if name in tensors}
    return functional_call(net, own, (x,), tie_weights=False)


def close(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether two passes agree but for rounding."""
    return torch.allclose(one, other, rtol=1e-3, atol=1e-4, equal_nan=True)


def layers(net: nn.Module, kind: str) -> str:
    """Return the layers whose class is called so, as an aside."""
    found = [name for name, one in net.named_modules() if kind in type(one).__name__]
    return f" ({', '.join(found)})" if found else ""


def refusal(path: str, found: str, allowed: str) -> BadInput:
    """Return the error that says what of a network is in the way."""
    return BadInput(f"model.module: {path}: found {found}, allowed: {allowed}")


def said(error: BaseException) -> str:
    """Return what an error says, short and on one line."""
    return f"{type(error).__name__}: {plain(' '.join(str(error).split()))}"
