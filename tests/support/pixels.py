"""How far two pictures are from each other."""

from pathlib import Path

import numpy as np
from matplotlib.image import imread


def assert_same_picture(kept: Path, drawn: Path) -> None:
    """Fail unless two files have one size and their numbers from 0 to 1 differ by less than 2e-5 on average.

    One circle of a figure of three panels that moves by 3 points of accuracy makes 7e-5.
    """
    one, other = imread(kept), imread(drawn)
    assert one.shape == other.shape, kept.name
    assert np.abs(one - other).mean() < 2e-5, kept.name
