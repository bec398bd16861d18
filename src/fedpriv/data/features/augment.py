"""Seeded augmentation of a photograph: what a copy looks like depends on its image and number alone."""

from __future__ import annotations

import math

import numpy as np
import torch
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional as F

from fedpriv.streams import Streams

# The paper augments by cropping, flipping, rotation and brightness and says no more; mild ranges, under which
# a lesion stays a lesion.
AREA = (0.7, 1.0)  # of the crop, as a share of the image
ASPECT = (3 / 4, 4 / 3)  # of the crop, times that of the image
DEGREES = 20.0
BRIGHTNESS = (0.8, 1.2)


def plain(image: torch.Tensor, side: int) -> torch.Tensor:
    """Return the whole image uint8 [3, h, w] as a square [3, side, side]; its aspect is not kept."""
    return F.resize(image, [side, side], antialias=True)


def augmented(image: torch.Tensor, side: int, rng: np.random.Generator) -> torch.Tensor:
    """Return a random resized crop of the image, flipped, rotated (corners black), brighter or darker."""
    height, width = image.shape[-2:]
    area, stretch = rng.uniform(*AREA), math.exp(rng.uniform(*np.log(ASPECT)))
    h = min(max(round(height * math.sqrt(area / stretch)), 1), height)
    w = min(max(round(width * math.sqrt(area * stretch)), 1), width)
    top, left = int(rng.integers(height - h + 1)), int(rng.integers(width - w + 1))
    across, down = rng.random(2) < 0.5
    degrees, brightness = float(rng.uniform(-DEGREES, DEGREES)), float(rng.uniform(*BRIGHTNESS))

    image = F.resized_crop(image, top, left, h, w, [side, side], antialias=True)
    image = F.horizontal_flip(image) if across else image
    image = F.vertical_flip(image) if down else image
    image = F.rotate(image, degrees, interpolation=InterpolationMode.BILINEAR)
    return F.adjust_brightness(image, brightness)


def copy(image: torch.Tensor, id: str, number: int, side: int, streams: Streams) -> torch.Tensor:
    """Return copy `number` of the image `id`, uint8 [3, side, side]; copy 0 is the plain image."""
    if number == 0:
        return plain(image, side)
    return augmented(image, side, streams.numpy(f"augment {id}", number))
