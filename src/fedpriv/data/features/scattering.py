"""The scattering transform: wavelets and moduli, two layers deep, a fixed map that no data are needed for.

Mallat, Group invariant scattering, 2012; Bruna and Mallat, Invariant scattering convolution networks, 2013.
Morlet wavelets as there: σ = 0.8 · 2^j, ξ = 3π/4 · 2^−j, twice as long across as along; 2 scales, 8 angles.
"""

from __future__ import annotations

import functools
import math

import torch

SCALES, ANGLES = 2, 8
SPREAD = 0.8  # of a wave at scale 0 along itself, in pixels
STEP = 2**SCALES  # pixels between two places at which an average is kept
PATHS = 1 + SCALES * ANGLES + ANGLES**2 * SCALES * (SCALES - 1) // 2
PADDING = 4  # pixels on every side, mirrored, so that nothing comes round from the other side
# How many moduli each path of a transform has had, in their order.
MODULI = [
    0,
    *(one for scale in range(SCALES) for one in [1] * ANGLES + [2] * ANGLES**2 * (SCALES - 1 - scale)),
]


def transform(images: torch.Tensor) -> torch.Tensor:
    """Return the coefficients `[n, PATHS, h / 4, w / 4]` of images `[n, h, w]` in 0..1.

    Sides are multiples of 4. Nothing of one image depends on another. The first path is the average, then
    come one and two moduli.
    """
    padded = torch.nn.functional.pad(images[:, None], [PADDING] * 4, mode="reflect")
    waves = wavelets(*padded.shape[2:])
    paths, spectrum = [averages(padded)], torch.fft.fft2(padded)
    first = [torch.fft.ifft2(spectrum * at_scale).abs() for at_scale in waves]
    for scale, moduli in enumerate(first):
        paths.append(averages(moduli))
        for larger in range(scale + 1, SCALES):
            for spectrum in torch.fft.fft2(moduli).split(1, dim=1):
                paths.append(averages(torch.fft.ifft2(spectrum * waves[larger]).abs()))
    return torch.cat(paths, dim=1)


def moduli_order(paths: torch.Tensor) -> torch.Tensor:
    """Return coefficients `[n, PATHS, h, w]` with all paths of one modulus before those of two.

    Within each, paths keep their order: by scale, then by angle.
    """
    return paths[:, sorted(range(PATHS), key=MODULI.__getitem__)]


def averages(padded: torch.Tensor) -> torch.Tensor:
    """Return the local averages of `[..., h, w]` at every fourth pixel of the image, from its third on."""
    down, across = map(smoothing, padded.shape[-2:])
    return down @ padded @ across.T


@functools.cache
def smoothing(length: int) -> torch.Tensor:
    """Return the Gaussian means `[kept, length]` of a row of pixels around each that is kept, float32."""
    kernel = torch.fft.ifft(bell(1, length, SPREAD * STEP / 2, 1.0, 0.0, 0.0)[0]).real
    kernel = kernel / kernel.sum()
    places = range(PADDING + STEP // 2, length - PADDING, STEP)
    return torch.stack([kernel.roll(place) for place in places]).float()


@functools.cache
def wavelets(height: int, width: int) -> torch.Tensor:
    """Return the spectra of the wavelets `[SCALES, ANGLES, h, w]`, float32.

    One is a bell around ξ, less as much of a bell around 0 as makes the wavelet's sum zero.
    """
    waves = []
    for scale in range(SCALES):
        sigma, xi = SPREAD * 2**scale, 0.75 * math.pi / 2**scale
        for angle in (math.pi * turn / ANGLES for turn in range(ANGLES)):
            around, middle = (bell(height, width, sigma, 2 * sigma, angle, at) for at in (xi, 0.0))
            waves.append(around - around[0, 0] / middle[0, 0] * middle)
    return torch.stack(waves).float().view(SCALES, ANGLES, height, width)


def bell(height: int, width: int, along: float, across: float, angle: float, at: float) -> torch.Tensor:
    """Return the spectrum of a Gaussian with these standard deviations, in pixels, moved to frequency `at`.

    Frequencies of a grid are those of all its multiples, so that the bell goes round it.
    """
    total = torch.zeros(height, width, dtype=torch.float64)
    turns = 2 * math.pi * torch.arange(-2, 3, dtype=torch.float64)
    for down in turns:
        for right in turns:
            y = 2 * math.pi * torch.fft.fftfreq(height, dtype=torch.float64)[:, None] + down
            x = 2 * math.pi * torch.fft.fftfreq(width, dtype=torch.float64) + right
            ahead = math.cos(angle) * x + math.sin(angle) * y - at
            aside = math.cos(angle) * y - math.sin(angle) * x
            total += torch.exp(-((along * ahead) ** 2 + (across * aside) ** 2) / 2)
    return total
