"""A folder of tiny photographs, and a dataset that reads it."""

import csv

import numpy as np
from PIL import Image

from fedpriv.data.photographs import COLUMNS, Photographs

TINY = Photographs("tiny", 5, 4, 32, lambda mirrors, own: own / "raw", False, "none", "none")


def image(number, side=32):
    return Image.fromarray(
        np.random.default_rng(number).integers(0, 256, (side, side + 8, 3), dtype=np.uint8)
    )


def table(folder, rows, columns=COLUMNS):
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "train.csv").open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return folder / "train.csv"


def lay(folder, count=12, suffix=".png", inside="train_images"):
    """Write `count` photographs p0, p1, ... with labels 0 to 4 in turn; p2 and the last are the same."""
    table(folder, [(f"p{number}", number % 5) for number in range(count)])
    (folder / inside).mkdir(exist_ok=True)
    for number in range(count):
        image(2 if number == count - 1 else number).save(folder / inside / f"p{number}{suffix}")
    return folder
