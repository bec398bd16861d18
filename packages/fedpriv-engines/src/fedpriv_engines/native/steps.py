"""Engines of local steps in C: all mini-batches of a client in one call, without Python or torch in between.

- mlp: dense layers, the network of `fedpriv.models.nets` on images of 28x28 bytes. What is zero is left
  out of the arithmetic: of pixels, and of what a ReLU gives.
- small_net: the network of `fedpriv.models.nets` with widths (16, 16, hidden), 3x3 kernels and tanh, or,
  if `binary`, that of `fedpriv.models.bnn`.

Weights `[d]` have the order of their models' shapes. Arithmetic is float32.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from typing import Any, NamedTuple

import torch

from fedpriv_engines import native
from fedpriv_engines.native.gradients import check, check_range, logits_of

IMAGE = (28, 28), torch.uint8
POINTER, NUMBER = ctypes.c_void_p, ctypes.c_int64
Tensors = dict[str, tuple[torch.Tensor, tuple[int, ...], torch.dtype]]  # as `check` has them


class Functions(NamedTuple):
    """Those of one unit; a call releases Python's global lock."""

    train: Any
    logits: Any


@functools.cache
def functions(unit: str, *options: Any) -> Functions:
    """Return the functions in C; of `train` the `options` are the types between mini-batches and loss."""
    library = native.library(unit)
    compiled = Functions(getattr(library, f"{unit}_train"), getattr(library, f"{unit}_logits"))
    batches = [POINTER, POINTER, POINTER, POINTER, NUMBER]  # images, labels, rows, sizes, how many sizes
    compiled.train.argtypes = [POINTER, *batches, *options, ctypes.POINTER(ctypes.c_double)]
    compiled.logits.argtypes = [POINTER, POINTER, NUMBER, POINTER, POINTER]
    return compiled


def mini_batches(
    images: torch.Tensor,
    labels: torch.Tensor,
    rows: torch.Tensor,
    sizes: torch.Tensor,
    classes: int,
    others: Tensors,
) -> list[int]:
    """Return mini-batches as C takes them: addresses, and how many.

    images `[n, 28, 28]` uint8, labels `[n]` int64; rows int64: the examples of all mini-batches one after the
    other; sizes int64: the lengths of these. Raises ValueError for what C would misread, of them or of the
    `others` that go with them.
    """
    n = len(images)
    tensors = {
        "images": (images, (n, 28, 28), torch.uint8),
        "labels": (labels, (n,), torch.int64),
        "rows": (rows, (len(rows),), torch.int64),
        "sizes": (sizes, (len(sizes),), torch.int64),
    }
    check({**tensors, **others})
    check_range("sizes", sizes, 1, len(rows))
    check_range("rows", rows, 0, n - 1)
    check_range("labels", labels[rows], 0, classes - 1)
    if not len(sizes) or int(sizes.sum()) != len(rows):
        lengths = f"{len(sizes)} with sum {int(sizes.sum())}"
        raise ValueError(f"sizes: found {lengths}, allowed is the sum {len(rows)}")
    return [*(tensor.data_ptr() for tensor in (images, labels, rows, sizes)), len(sizes)]


LAYERS = 17  # as many as the C structure has room for
PIXELS = 784


class MlpNet(NamedTuple):
    """Which network: the units of the hidden layers, then the classes."""

    widths: tuple[int, ...]

    unit = "mlp"

    @property
    def size(self) -> int:
        """Return d, the length of the flat weights."""
        return sum(a * b for a, b in itertools.pairwise((PIXELS, *self.widths)))


class _MlpNet(ctypes.Structure):
    _fields_ = (("layers", ctypes.c_int64), ("widths", ctypes.c_int64 * (LAYERS + 1)))


def _mlp_functions() -> Functions:
    """Return the functions in C: the weights and the rate are their own options."""
    return functions(MlpNet.unit, POINTER, ctypes.c_double)


def _mlp_struct(net: MlpNet) -> _MlpNet:
    """Return the C structure; raises ValueError for a network that C does not know."""
    if not 1 <= len(net.widths) <= LAYERS or min(net.widths) < 1:
        raise ValueError(f"widths: found {net.widths}, allowed are 1 to {LAYERS}, each 1 or more")
    return _MlpNet(len(net.widths), (ctypes.c_int64 * (LAYERS + 1))(PIXELS, *net.widths))


def train_mlp(
    net: MlpNet,
    images: torch.Tensor,
    labels: torch.Tensor,
    rows: torch.Tensor,
    sizes: torch.Tensor,
    weights: torch.Tensor,
    rate: float,
) -> float:
    """Take one step of plain SGD for each mini-batch; return the mean loss on the last one, before its step.

    images, labels, rows and sizes are those of `mini_batches`. Weights `[d]` float32 are changed in place;
    those at zeros are left alone, whatever they are. Equal input gives equal bits, whatever other threads do.
    Raises ValueError for what C would misread, MemoryError, and RuntimeError where the unit mlp is not
    available.
    """
    structure = _mlp_struct(net)
    others: Tensors = {"weights": (weights, (net.size,), torch.float32)}
    batches = mini_batches(images, labels, rows, sizes, net.widths[-1], others)
    loss = ctypes.c_double()
    if _mlp_functions().train(ctypes.byref(structure), *batches, weights.data_ptr(), rate, loss):
        raise MemoryError("the dense layers found too little memory for a mini-batch")
    return loss.value


def mlp_logits(net: MlpNet, images: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return the logits `[n, classes]` of images `[n, 28, 28]` uint8; weights and errors as in `train`."""
    logits = _mlp_functions().logits
    return logits_of(logits, _mlp_struct(net), images, IMAGE, weights, net.size, net.widths[-1])


CLASSES = 64  # at most, for which the C structure has room


class SmallNet(NamedTuple):
    """Which network: the last three matter only if `binary`, and the threshold if the input is binarised."""

    hidden: int
    classes: int
    binary: bool = False
    norm: bool = False
    binarise_input: bool = False
    threshold: float = 0.5

    unit = "small_net"

    @property
    def bits(self) -> int:
        """Number of weights before those of the normalisations."""
        convolutions = 16 * 9 + 16 * 16 * 9 + (0 if self.binary else 32)
        return convolutions + (784 + 1) * self.hidden + (self.hidden + 1) * self.classes

    @property
    def size(self) -> int:
        """Return d, the length of the flat weights."""
        return self.bits + (4 * (32 + self.hidden + self.classes) if self.norm else 0)


class Adam(NamedTuple):
    """How a client steps: Adam with epsilon 1e-8 (Kingma and Ba 2015), on the gradient of the mean loss.

    The gradient of proximal/2 · ‖weights - start‖² is added, then the whole is clipped to the norm `clip`; 0
    switches either off.
    """

    rate: float
    beta1: float = 0.9
    beta2: float = 0.999
    proximal: float = 0.0
    clip: float = 0.0


class _Net(ctypes.Structure):
    _fields_ = (
        ("hidden", ctypes.c_int64),
        ("classes", ctypes.c_int64),
        ("binary", ctypes.c_int),
        ("norm", ctypes.c_int),
        ("bright", ctypes.c_int),
    )


class _Adam(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_double) for name in Adam._fields)


def _functions() -> Functions:
    """Return the functions in C: state, optimiser, start and uniforms are their own options."""
    state = [POINTER, POINTER, POINTER, NUMBER]  # weights, both moments, steps before
    options = [POINTER, POINTER, POINTER, NUMBER]  # Adam, start, uniforms and the length of a row of them
    return functions(SmallNet.unit, *state, *options)


def _struct(net: SmallNet) -> _Net:
    bright = -1
    if net.binary and net.binarise_input:
        # The first grey that is not below the threshold in float32, as PyTorch compares.
        bright = int((torch.arange(256) / 255 - net.threshold < 0).sum())
    return _Net(net.hidden, net.classes, net.binary, net.norm, bright)


def train_small(
    net: SmallNet,
    images: torch.Tensor,
    labels: torch.Tensor,
    rows: torch.Tensor,
    sizes: torch.Tensor,
    weights: torch.Tensor,
    first_moment: torch.Tensor,
    second_moment: torch.Tensor,
    steps_before: int,
    adam: Adam,
    start: torch.Tensor | None = None,
    uniforms: torch.Tensor | None = None,
) -> float:
    """Take one step for each mini-batch; return the mean loss on the last one, before its step.

    images, labels, rows and sizes are those of `mini_batches`. Weights and both moments, all `[d]` float32,
    are changed in place; steps_before counts the steps that made the moments. Start `[d]` is where the
    proximal term draws to. Of a binary network the signs of the weights are used or, with uniforms `[steps,
    d]` in [0, 1), +1 where u < (1 + weight)/2, and weights are clamped to [-1, 1] after each step; the
    gradient ignores all signs. With `norm` a batch is normalised by its own statistics (epsilon 1e-5), and
    the running ones move a tenth of the way towards them, the variance to the unbiased one.

    The maximum of a pool is the first in reading order. A dense bias before a normalisation gets the gradient
    zero, which it has but for rounding. Equal input gives equal bits, whatever other threads do. Raises
    ValueError for what C would misread, MemoryError, and RuntimeError where the unit small_net is not
    available.
    """
    d = (net.size,)
    others: Tensors = {
        "weights": (weights, d, torch.float32),
        "first_moment": (first_moment, d, torch.float32),
        "second_moment": (second_moment, d, torch.float32),
    }
    if adam.proximal:
        if start is None:
            raise ValueError(f"start: found None, allowed are weights where proximal is {adam.proximal}")
        others["start"] = (start, d, torch.float32)
    if uniforms is not None:
        others["uniforms"] = (uniforms, (len(sizes), net.size), torch.float32)
    batches = mini_batches(images, labels, rows, sizes, net.classes, others)
    if steps_before < 0:
        raise ValueError(f"steps_before: found {steps_before}, allowed is 0 or more")
    loss = ctypes.c_double()
    failed = _functions().train(
        ctypes.byref(_struct(net)),
        *batches,
        weights.data_ptr(),
        first_moment.data_ptr(),
        second_moment.data_ptr(),
        steps_before,
        ctypes.byref(_Adam(*adam)),
        None if start is None else start.data_ptr(),
        None if uniforms is None else uniforms.data_ptr(),
        net.size,
        loss,
    )
    if failed:
        raise MemoryError("the small network found too little memory for a mini-batch")
    return loss.value


def small_logits(net: SmallNet, images: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return the logits `[n, classes]` of images `[n, 28, 28]` uint8, normalised by running statistics.

    Weights `[d]` float32; of a binary network their signs are used. Errors as in `train`.
    """
    return logits_of(_functions().logits, _struct(net), images, IMAGE, weights, net.size, net.classes)
