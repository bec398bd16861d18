"""A network of one's own: any `torch.nn.Module`, by import path.

What is asked of it is asked before anything is trained (`fedpriv.models.functional`): that it is a function
of its parameters and of one example at a time. Only then does a clipped gradient bound what an example does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from fedpriv.models.base import GREY, Example, Model, Params
from fedpriv.models.by_path import PATH, code

if TYPE_CHECKING:
    import numpy as np
    import torch


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

        return code(self.module, functional.loaded(self.module))

    def size(self, classes: int) -> int:
        """Return 0: nobody knows without torch."""
        return 0

    def shapes(self, classes: int, example: Example = GREY) -> dict[str, tuple[int, ...]]:
        from fedpriv.models import functional

        net = functional.constant(self.model_dump_json())
        return {name: tuple(one.shape) for name, one in functional.trained(net).items()}

    def tried(self, x: torch.Tensor, classes: int, expected: Example | None) -> torch.Tensor:
        from fedpriv.models import functional

        return functional.checked(self.model_dump_json(), x, expected)

    def unstackable(self, x: torch.Tensor) -> str:
        from fedpriv.models import functional

        return functional.unstackable(self.model_dump_json(), x)

    def initial(self, classes: int, example: Example, rng: np.random.Generator) -> torch.Tensor:
        """Return the weights that the constructor gives, from a generator that `rng` seeds."""
        import torch

        from fedpriv.models import functional

        net = functional.built(self.model_dump_json(), int(rng.integers(2**63)))
        return torch.cat([one.detach().float().flatten() for one in functional.trained(net).values()])

    def apply(self, params: Params, x: torch.Tensor) -> torch.Tensor:
        from fedpriv.models import functional

        return functional.call(self.model_dump_json(), params, x)


def module_by_key(value: Any) -> Any:
    """Read `{module: PATH, ...}` as the model of that name."""
    return {"name": "module"} | value if isinstance(value, dict) and "module" in value else value
