"""The scattering transform is what its definition says, and looks at one image alone."""

import math

import numpy as np
import torch
from fedpriv_studies import public

SIDE = 28 + 2 * public.PADDING


def gaussian(along: float, across: float, angle: float, frequency: float) -> np.ndarray:
    """Return a Gaussian of sum 1 times a wave, sampled in space and wrapped, `[SIDE, SIDE]`."""
    total = np.zeros((SIDE, SIDE), dtype=np.complex128)
    for down in range(-2, 3):
        for right in range(-2, 3):
            y, x = np.mgrid[:SIDE, :SIDE] + np.array([down, right])[:, None, None] * SIDE
            ahead = math.cos(angle) * x + math.sin(angle) * y
            aside = math.cos(angle) * y - math.sin(angle) * x
            bell = np.exp(-((ahead / along) ** 2 + (aside / across) ** 2) / 2)
            total += bell * np.exp(1j * frequency * ahead) / (2 * np.pi * along * across)
    return total


def convolved(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Return the sum over all pixels of the image times the kernel from there, pixel by pixel."""
    found = np.zeros((SIDE, SIDE), dtype=np.complex128)
    for down, right in np.ndindex(SIDE, SIDE):
        found += image[down, right] * np.roll(kernel, (down, right), axis=(0, 1))
    return found


def pictures(count: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(count, 28, 28, generator=torch.Generator().manual_seed(seed))


def test_coefficients_are_those_of_sums_over_pixels_in_float64():
    image = pictures(1)
    found = public.transform(image)[0]
    padded = np.pad(image[0].numpy().astype(np.float64), public.PADDING, mode="reflect")
    smooth = gaussian(1.6, 1.6, 0, 0)
    places = slice(public.PADDING + 2, SIDE - public.PADDING, 4)

    def average(values):
        return convolved(values, smooth).real[places, places]

    def waves(scale, turn):
        sigma, angle = 0.8 * 2**scale, math.pi * turn / 8
        wave = gaussian(sigma, 2 * sigma, angle, 0.75 * math.pi / 2**scale)
        bell = gaussian(sigma, 2 * sigma, angle, 0)
        return wave - bell * wave.sum() / bell.sum()

    assert np.allclose(found[0], average(padded), atol=1e-5)
    for scale, turn in ((0, 0), (0, 3), (1, 5)):
        moduli = np.abs(convolved(padded, waves(scale, turn)))
        where = 1 + turn if scale == 0 else 1 + 8 + 64 + turn
        assert np.allclose(found[where], average(moduli), atol=1e-5)
    again = np.abs(convolved(np.abs(convolved(padded, waves(0, 3))), waves(1, 5)))
    assert np.allclose(found[1 + 8 + 3 * 8 + 5], average(again), atol=1e-5)


def test_an_image_moved_by_a_step_has_its_coefficients_one_place_on():
    image = torch.zeros(1, 28, 28)
    image[:, 10:16, 8:14] = pictures(1)[:, 10:16, 8:14]
    here, there = (public.transform(one)[0] for one in (image, image.roll(4, dims=2)))
    assert torch.allclose(here[:, :, 1:5], there[:, :, 2:6], atol=1e-5)


def test_an_image_has_the_same_coefficients_in_any_company():
    images = pictures(7)
    together = public.transform(images)
    assert together.shape == (7, public.PATHS, 7, 7) == (7, 81, 7, 7)
    for one in (0, 6):
        assert torch.allclose(public.transform(images[one : one + 1])[0], together[one], atol=1e-6)
