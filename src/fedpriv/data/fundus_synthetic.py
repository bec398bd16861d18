"""Fundus photographs drawn by us, by grade 0 to 4; they stand in for APTOS where it cannot be had.

A dark background, an orange disc with the optic disc and branching vessels, and lesions whose number and kind
grow with the grade: dark red microaneurysms from grade 1, dark red haemorrhages and yellow exudates from
grade 2. They are no medical images, and nothing learned from them says anything about eyes.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fedpriv.data.photographs import COLUMNS, Photographs
from fedpriv.store.files import writing
from fedpriv.streams import Streams

SIDE = 96  # pixels of an image; it is drawn at twice that and averaged, so edges are smooth
GRADES = (100,) * 5  # images of each grade: equally many, for the shares of APTOS are private counts
CANVAS = 2 * SIDE
ORANGE, DISC, VESSEL, BLOOD, EXUDATE = (
    np.array(colour, dtype=np.float32)
    for colour in ((196, 98, 42), (246, 206, 128), (120, 34, 20), (70, 6, 10), (255, 238, 110))
)
LESIONS = (  # at most how many by grade, least and largest radius, colour
    ((0, 10, 16, 24, 30), (2.0, 3.0), BLOOD),  # microaneurysms
    ((0, 0, 8, 14, 24), (4.0, 8.0), BLOOD),  # haemorrhages
    ((0, 0, 8, 16, 30), (3.0, 6.0), EXUDATE),
)
DOWN, ACROSS = np.mgrid[:CANVAS, :CANVAS].astype(np.float32)
FROM_CENTRE = np.hypot(ACROSS - SIDE + 0.5, DOWN - SIDE + 0.5) / (0.94 * SIDE)  # 1 at the rim


def stamp(canvas: np.ndarray, x: float, y: float, radius: float, colour: np.ndarray) -> None:
    """Lay a disc over `canvas` [CANVAS, CANVAS, 3], which is changed; what lies outside is cut."""
    left, top = max(int(x - radius), 0), max(int(y - radius), 0)
    window = np.s_[top : int(y + radius) + 2, left : int(x + radius) + 2]
    part = canvas[window]
    inside = (ACROSS[window] - x) ** 2 + (DOWN[window] - y) ** 2 <= radius**2
    part[inside] += 0.85 * (colour - part[inside])


def vessels(x: float, y: float, rng: np.random.Generator) -> np.ndarray:
    """Return where vessels are, bool [CANVAS, CANVAS]: from the optic disc (x, y) they bend, thin, branch."""
    where = np.zeros((CANVAS, CANVAS), dtype=bool)
    angle = rng.uniform(0, 2 * np.pi, 6)
    xs, ys, radius, steps = np.full(6, x), np.full(6, y), 2.4, 40
    for _ in range(2):
        angles = angle[:, None] + np.cumsum(rng.normal(0, 0.12, (len(angle), steps)), axis=1)
        across = xs[:, None] + 2 * np.cumsum(np.cos(angles), axis=1)
        down = ys[:, None] + 2 * np.cumsum(np.sin(angles), axis=1)
        radii = np.broadcast_to(radius * 0.985 ** np.arange(steps), angles.shape)
        for dx, dy in np.ndindex(5, 5):
            drawn = np.hypot(dx - 2, dy - 2) <= radii
            if not drawn.any():
                continue
            columns, rows = (across[drawn] + dx - 2).astype(int), (down[drawn] + dy - 2).astype(int)
            inside = (columns >= 0) & (columns < CANVAS) & (rows >= 0) & (rows < CANVAS)
            where[rows[inside], columns[inside]] = True
        xs, ys = np.repeat(across[:, -1], 2), np.repeat(down[:, -1], 2)
        angle, radius = np.repeat(angles[:, -1], 2) + np.tile((-0.4, 0.4), len(angle)), 0.8 * radii[0, -1]
    return where


def draw_fundus(grade: int, rng: np.random.Generator) -> np.ndarray:
    """Return one image, uint8 [SIDE, SIDE, 3]."""
    canvas = ORANGE * (rng.uniform(0.9, 1.1) * (1 - 0.35 * FROM_CENTRE[..., None] ** 2))
    x = SIDE + rng.choice((-1, 1)) * rng.uniform(0.3, 0.5) * SIDE
    y = SIDE + rng.uniform(-0.1, 0.1) * SIDE
    stamp(canvas, x, y, rng.uniform(12, 16), DISC)
    canvas[vessels(x, y, rng)] = VESSEL
    for most, sizes, colour in LESIONS:
        for _ in range(rng.integers(most[grade] * 2 // 3, most[grade] + 1)):
            distance, angle = 0.82 * SIDE * np.sqrt(rng.random()), rng.uniform(0, 2 * np.pi)
            centre = SIDE + distance * np.cos(angle), SIDE + distance * np.sin(angle)
            stamp(canvas, *centre, rng.uniform(*sizes), colour)
    canvas[FROM_CENTRE > 1] = 6
    small = canvas.reshape(SIDE, 2, SIDE, 2, 3).mean((1, 3)) + rng.normal(0, 3, (SIDE, SIDE, 3))
    return np.clip(np.floor(small + 0.5), 0, 255).astype(np.uint8)


def images() -> tuple[np.ndarray, np.ndarray]:
    """Return all images, uint8 [n, SIDE, SIDE, 3], and their grades [n]; always the same."""
    streams = Streams(0, "fundus_synthetic")
    grades = streams.numpy("grades").permutation(np.repeat(np.arange(len(GRADES)), GRADES))
    drawn = [draw_fundus(int(grade), streams.numpy("image", number)) for number, grade in enumerate(grades)]
    return np.stack(drawn), grades


def draw_photographs(mirrors: Sequence[str], own: Path) -> Path:
    """Return the folder `own`/raw, drawing the images into it first; mirrors are not asked."""
    from PIL import Image

    folder = own / "raw"
    table = folder / "train.csv"
    if table.exists():  # it is written last
        return folder
    (folder / "train_images").mkdir(parents=True, exist_ok=True)
    drawn, grades = images()
    names = [f"fundus{number:03d}" for number in range(len(grades))]
    for name, image in zip(names, drawn, strict=True):
        Image.fromarray(image).save(folder / "train_images" / f"{name}.png", compress_level=1)
    with writing(table) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *zip(names, grades.tolist(), strict=True)])
    return folder


FUNDUS_SYNTHETIC = Photographs(
    name="fundus_synthetic",
    classes=len(GRADES),
    test_rows=100,
    side=SIDE,
    find=draw_photographs,
    network=False,
    licence="MIT, as this project",
    citation="made by fedpriv",
)
