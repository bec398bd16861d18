import numpy as np
import torch

from fedpriv.data.features import extract
from fedpriv.streams import Streams

STREAMS = Streams(0, "test")


def image(height=40, width=56, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 256, (3, height, width), dtype=np.uint8))


def test_copy_0_is_the_whole_image_resized_whatever_the_seed():
    whole = extract.squared(image(), 32)
    assert all(
        torch.equal(extract.augmented_copy(image(), "a", 0, 32, Streams(seed, "x")), whole)
        for seed in range(3)
    )
    assert torch.equal(extract.squared(image(32, 32), 32), image(32, 32))


def test_a_copy_depends_on_its_seed_its_image_and_its_number_alone():
    one = extract.augmented_copy(image(), "a", 1, 32, STREAMS)
    extract.augmented_copy(image(), "b", 7, 32, STREAMS)
    assert torch.equal(extract.augmented_copy(image(), "a", 1, 32, STREAMS), one)
    others = [("a", 2, STREAMS), ("b", 1, STREAMS), ("a", 1, Streams(1, "test"))]
    for id_, number, streams in others:
        assert not torch.equal(extract.augmented_copy(image(), id_, number, 32, streams), one)


def test_copies_are_flipped_both_ways_about_half_of_the_time():
    left = torch.zeros(3, 64, 64, dtype=torch.uint8)
    left[:, :24, :24] = 200  # bright in the upper left corner alone
    corners = torch.zeros(2, 2)
    for number in range(1, 200):
        made = extract.augmented_copy(left, "a", number, 32, STREAMS).float().mean(0)
        brightness = torch.stack([made[:10, :10], made[:10, 22:], made[22:, :10], made[22:, 22:]]).mean(
            (1, 2)
        )
        corners.view(-1)[brightness.argmax()] += 1
    assert (corners > 30).all()
