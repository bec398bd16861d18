"""What a model is: shapes, a pure function of parameters and inputs, and parameters as one flat vector."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from fedpriv.errors import BadInput
from fedpriv.frozen import RunPart

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import torch

    from fedpriv.config.run import Run
    from fedpriv.data.own import Npz
    from fedpriv.data.photographs import Photos
    from fedpriv.streams import Streams
    from fedpriv.trace import Facts

Params = dict[str, "torch.Tensor"]
Shapes = dict[str, tuple[int, ...]]
Example = tuple[int, ...]  # the shape of what a model reads: (channels, height, width), or (features,)
GREY: Example = (1, 28, 28)
Engine = tuple[Any, ...]  # a unit of the package `fedpriv-engines`, and its arguments
# What happens to a tensor: it goes through the scheme, it is averaged as it is, it never leaves its client.
Handling = Literal["protected", "clear", "kept"]


def initial_weights(shapes: Shapes, rng: np.random.Generator, zero: str = "") -> torch.Tensor:
    """Return the weights before training, `[d]`, float32, on CPU.

    Weights are He-initialised (normal, variance 2 / fan-in), biases zero; a normalisation changes nothing.
    The weight named `zero` is zero, and every other one what it would have been.
    """
    import torch

    from fedpriv.streams import Noise

    tensors = []
    for name, shape in shapes.items():
        tensor = torch.zeros(shape)
        if name.startswith("norm") and name.endswith(("weight", "variance")):
            tensor.fill_(1.0)
        elif name.endswith("weight"):
            tensor.copy_(math.sqrt(2.0 / math.prod(shape[1:])) * Noise(rng).like(tensor))
        if name == zero:
            tensor.zero_()
        tensors.append(tensor.flatten())
    return torch.cat(tensors)


class Features(NamedTuple):
    """Of what fixed features are made, and how fast."""

    listed: Path  # a file of arrays, or the manifest of photographs
    dataset: str  # what it is called
    photos: Photos  # how photographs are copied
    own: Npz | None = None  # the file of one's own that they are made of; None: it is none
    alone: bool = False  # clients hold public examples, and nobody's private ones
    device: str = "cpu"
    threads: int = 0  # 0: one a core


class Model(RunPart):
    """A frozen description; the weights live outside, in one flat vector `[d]` (`unflatten`)."""

    reads: ClassVar[Literal["images", "features"]] = "images"  # what its dataset gives
    binary: ClassVar[bool] = False  # a pass uses the signs of the protected weights
    normalises: ClassVar[bool] = False  # over its batch, which then has to stay in one piece
    learns_from_public: ClassVar[bool] = False  # its features are seen from public images, with their labels
    stacked: ClassVar[bool] = (
        False  # a pass takes stacks of clients, too: weights [s, ...] and inputs [s, n, ...]
    )
    name: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Take no pass that is overridden for one that knows stacks, unless it says so."""
        super().__init_subclass__(**kwargs)
        if "stacked" not in vars(cls) and {"apply", "forward", "learn"} & vars(cls).keys():
            cls.stacked = False

    @property
    def stochastic(self) -> bool:
        """Whether the signs of binary weights are drawn in every step."""
        return False

    @property
    def width(self) -> int:
        """Number of fixed features of an example that the model reads; 0: it reads the image."""
        return 0

    @property
    def features(self) -> str:
        """Return the name of the fixed features that are read instead of images; empty: images are."""
        return ""

    def write_features(self, features: Features, out: Path) -> Path:
        """Write the fixed features that it reads to `out`, a file of arrays; of a model that names any."""
        raise NotImplementedError

    def normalise(self, train: np.ndarray, test: np.ndarray, streams: Streams) -> None:
        """Change features `[n, width]` in place by what is learned of all training examples at once.

        What that releases is drawn from `streams` and stands in `facts`, which accountants count.
        """

    def facts(self, round_number: int) -> Facts:
        """Columns of the trace about what this model has released of all examples before `round`."""
        return {}

    @property
    def code(self) -> str:
        """Name and digest of code that is not ours; empty where there is none."""
        return ""

    def refuses(self, run: Run) -> str:
        """One line on what this model needs instead of what `run` has; empty: nothing."""
        if (self.binary or self.normalises) and run.local.one_gradient:
            return f"local: found fedsgd, allowed: fedavg, with model {self.name}"
        if run.learn_from == "public" and not self.learns_from_public:
            return f"learn_from: found public, allowed: private, with model {self.name}"
        return ""

    def shapes(self, classes: int, example: Example = GREY) -> Shapes:
        """Return each parameter's shape, in the order of the flat vector: protected, clear, kept ones.

        Examples that this model cannot read are BadInput, here or from `tried`.
        """
        raise NotImplementedError

    def tried(self, x: torch.Tensor, classes: int, expected: Example | None) -> torch.Tensor:
        """Return the outputs of a pass over two examples `x`, or zeros of that shape.

        BadInput says why this model cannot be trained on such examples, or does not give the `expected`
        numbers of each (None: any will do).
        """
        if not x.is_floating_point():
            raise BadInput(
                f"model: found {self.name} with inputs of whole numbers, allowed: {{module: FILE:CLASS}}, a "
                "network of one's own that reads them"
            )
        if expected is not None and len(expected) != 1:
            raise BadInput(
                f"model: found {self.name} with labels that want outputs {list(expected)} an example, "
                "allowed: {module: FILE:CLASS}, a network of one's own that gives them"
            )
        return x.new_zeros(len(x), *(expected or (classes,)))

    def unstackable(self, x: torch.Tensor) -> str:
        """Name the layer that `vmap` cannot stack, tried on two examples `x`, and why; empty: none.

        Where there is one there are no gradients of single examples, and clients are worked on one by one.
        """
        return ""

    def handling(self, name: str) -> Handling:
        """Return the handling of the parameter of that name."""
        return "protected"

    @property
    def sends_in_clear(self) -> bool:
        """Say if some of its numbers are averaged in the clear, which no scheme protects."""
        own = type(self).handling is not Model.handling  # else all of them go through the scheme
        return own and any(self.handling(name) == "clear" for name in self.shapes(classes=1))

    def apply(self, params: Params, x: torch.Tensor) -> torch.Tensor:
        """Return the logits `[n, classes]` of images `[n, c, h, w]` or features `[n, f]`.

        They have the dtype of `params`. A network of one's own gives what its loss reads.
        """
        raise NotImplementedError

    def learn(self, params: Params, x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, Params]:
        """Return the logits in training, and the statistics of this batch by the name of their parameter.

        `weight` `[n]` is each example's part in a mean over the batch: 1/n, and 0 for padding.
        """
        return self.apply(params, x), {}

    def initial(self, classes: int, example: Example, rng: np.random.Generator) -> torch.Tensor:
        """Return the weights before training: see `initial_weights`."""
        return initial_weights(self.shapes(classes, example), rng)

    def gradient_engine(self, classes: int) -> Engine | None:
        """Engine of gradients that knows this model, and what it must be told; None: there is none."""
        return None

    def step_engine(self, classes: int) -> Engine | None:
        """Engine of local steps that knows this model, and what it must be told; None: there is none."""
        return None

    def size(self, classes: int) -> int:
        """Return the number of parameters, for examples of the usual shape."""
        return sum(math.prod(shape) for shape in self.shapes(classes).values())


def pooled_twice(model: Model, example: Example) -> Example:
    """Return the channels, height and width of images after two poolings; BadInput where nothing is left."""
    if len(example) != 3 or min(example[1:]) < 4:
        raise BadInput(
            f"model: found {model.name} with examples of shape {list(example)}, allowed: images [c, h, w] of "
            "at least 4 x 4 pixels"
        )
    channels, height, width = example
    return channels, height // 4, width // 4


class Normalised(Model):
    """A model with batch normalisation: one forward pass, in training and after it."""

    normalises: ClassVar[bool] = True

    def forward(
        self, params: Params, x: torch.Tensor, weight: torch.Tensor | None, statistics: Params
    ) -> torch.Tensor:
        """Return the logits; with `weight` by the statistics of the batch, put into `statistics`."""
        raise NotImplementedError

    def apply(self, params: Params, x: torch.Tensor) -> torch.Tensor:
        return self.forward(params, x, None, {})

    def learn(self, params: Params, x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, Params]:
        statistics: Params = {}
        return self.forward(params, x, weight, statistics), statistics


# Parameters as one flat vector: a scheme sees a matrix `[clients, p]`, a model sees named tensors.
ORDER: tuple[Handling, ...] = ("protected", "clear", "kept")


class Layout(NamedTuple):
    """What lies where: `protected` numbers, which go through the scheme, then `clear`, then kept ones."""

    protected: int
    clear: int
    tensors: tuple[int, ...]  # sizes of the protected tensors, in order


def layout(model: Model, classes: int, example: Example = GREY) -> Layout:
    """Return the layout of a model's flat vector; parameters in another order are a ValueError."""
    shapes = model.shapes(classes, example)
    kinds: list[Handling] = [model.handling(name) for name in shapes]
    if kinds != sorted(kinds, key=ORDER.index):
        raise ValueError(f"{model.name}: its parameters are not in the order {', '.join(ORDER)}")
    sizes: dict[Handling, list[int]] = {kind: [] for kind in ORDER}
    for kind, shape in zip(kinds, shapes.values(), strict=True):
        sizes[kind].append(math.prod(shape))
    return Layout(sum(sizes["protected"]), sum(sizes["clear"]), tuple(sizes["protected"]))


def unflatten(flat: torch.Tensor, shapes: Shapes) -> Params:
    """Return named views `[..., *shape]` of `flat` `[..., d]`; writing to a view writes to the vector."""
    params, start = {}, 0
    for name, shape in shapes.items():
        size = math.prod(shape)
        params[name] = flat[..., start : start + size].view(*flat.shape[:-1], *shape)
        start += size
    return params


def flatten_stack(params: Params) -> torch.Tensor:
    """Vectors `[s, d]`, float32, of the tensors of a stack `[s, *shape]`."""
    import torch

    return torch.cat([tensor.flatten(1).float() for tensor in params.values()], dim=1)
