"""A network of one's own: any `torch.nn.Module`, by import path `package.file:Class`.

A network is named by its `spec`, the JSON of its import path and its arguments, and made a pure function
of its parameters. What is asked of it is asked before anything is trained: that it is a function of its
parameters and of one example at a time. Only then does a clipped gradient bound what an example does.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import sys
import tokenize
from functools import reduce
from importlib.machinery import PathFinder
from itertools import accumulate
from pathlib import Path
from symtable import symtable
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from fedpriv.errors import BadInput, plain
from fedpriv.models.base import GREY, Example, Model, Params

if TYPE_CHECKING:
    import numpy as np
    import torch


PATH = r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*"  # package.file:Name


def import_object(key: str, path: str, name: str) -> Any:
    """Object at an import path; the folder of its file is searched last.

    Importing runs the file, which is trusted, if that has what is asked for. Nothing in it is called. `name`
    is what comes after the colon, in words.
    """
    module, attribute = path.split(":")
    if (folder := os.getcwd()) not in sys.path:
        sys.path.append(folder)
    try:
        first, *others = attribute.split(".")
        check_source(module, first)
        return reduce(getattr, others, getattr(importlib.import_module(module), first))
    except (Exception, SystemExit) as error:  # somebody's code runs here
        raise BadInput(
            f"{key}: found {path}, which cannot be imported ({error_text(error)}), allowed: FILE:{name}, the "
            "file without .py, of an installed package or in the folder where the program is started"
        ) from error


def check_source(module: str, name: str) -> None:
    """Raise ImportError for a program, or a file that cannot have `name`: neither is run to find out.

    What is not known before is left to the import.
    """
    if module.rpartition(".")[2] == "__main__":
        raise ImportError(f"{module} is a program")
    spec, places = None, None  # where parts are looked for: the whole path, then their packages
    for part in accumulate(module.split("."), "{}.{}".format):
        known = sys.modules.get(part)
        spec = None if known else PathFinder.find_spec(part, places)
        if not (known or spec):
            return
        places = getattr(known, "__path__", None) if known else spec and spec.submodule_search_locations
    source = Path(spec.origin or "") if spec else Path()
    if source.suffix == ".py" and not places and not may_have(source, name):
        raise ImportError(f"{source.name} has no {name}")


def may_have(source: Path, name: str) -> bool:
    """Return False for a file of Python that does not have that name outside of its functions and classes."""
    try:
        with tokenize.open(source) as file:
            text = file.read()
        names = {symbol.get_name() for symbol in symtable(text, str(source), "exec").get_symbols()}
    except (SyntaxError, ValueError):  # which its import says better
        return True
    # Some files only know what they have when they run.
    return bool(names & {name, "__getattr__", "globals", "vars", "setattr", "exec"}) or "import *" in text


def code(path: str, target: Any) -> str:
    """Return an import path with a digest of the file of what was found there."""
    try:
        source = inspect.getsourcefile(target)
    except TypeError:  # of a module without a file
        source = None
    digest = hashlib.sha256(Path(source).read_bytes()).hexdigest()[:8] if source else "without source"
    return f"{path} {digest}"


def error_text(error: BaseException) -> str:
    """Message of an error, short and on one line."""
    return f"{type(error).__name__}: {plain(' '.join(str(error).split()))}"


class Module(Model):
    """A `torch.nn.Module` by import path; every other key is an argument of its constructor.

    Parameters go through the scheme; buffers, and parameters that require no gradient, are constants.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, JsonValue]  # pyright: ignore[reportIncompatibleVariableOverride]
    name: Literal["module"] = "module"
    module: str = Field(pattern=f"^{PATH}$")
    """package.file:Class."""

    @property
    def code(self) -> str:
        from fedpriv.models import functional

        return code(self.module, functional.load_network_class(self.module))

    def size(self, classes: int) -> int:
        """Return 0: nobody knows without torch."""
        return 0

    def shapes(self, classes: int, example: Example = GREY) -> dict[str, tuple[int, ...]]:
        from fedpriv.models import functional

        net = functional.constant(self.model_dump_json())
        return {name: tuple(weights.shape) for name, weights in functional.trained_parameters(net).items()}

    def tried(self, x: torch.Tensor, classes: int, expected: Example | None) -> torch.Tensor:
        from fedpriv.models import functional

        return functional.check_network(self.model_dump_json(), x, expected)

    def unstackable(self, x: torch.Tensor) -> str:
        from fedpriv.models import functional

        return functional.unstackable_layer(self.model_dump_json(), x)

    def initial(self, classes: int, example: Example, rng: np.random.Generator) -> torch.Tensor:
        """Return the weights that the constructor gives, from a generator that `rng` seeds."""
        import torch

        from fedpriv.models import functional

        net = functional.build_network(self.model_dump_json(), int(rng.integers(2**63)))
        parameters = functional.trained_parameters(net).values()
        return torch.cat([parameter.detach().float().flatten() for parameter in parameters])

    def apply(self, params: Params, x: torch.Tensor) -> torch.Tensor:
        from fedpriv.models import functional

        return functional.call(self.model_dump_json(), params, x)


def module_by_key(value: Any) -> Any:
    """Read `{module: PATH, ...}` as the model of that name."""
    return {"name": "module"} | value if isinstance(value, dict) and "module" in value else value
