"""Draw ten classes of coloured shapes, 32 x 32 as the photographs of CIFAR-10, into an npz file."""

import sys

import numpy as np

SIZE = 32


def drawn(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return `n` images uint8 `[n, 3, 32, 32]` and their labels: five shapes, in warm colours or cold."""
    labels = np.arange(n) % 10
    row, column = np.mgrid[:SIZE, :SIZE]
    images = rng.normal(90, 35, (n, 3, SIZE, SIZE))
    for image, label in zip(images, labels, strict=True):
        radius, y, x = rng.integers(6, 11), *rng.integers(11, SIZE - 11, 2)
        dy, dx = np.abs(row - y), np.abs(column - x)
        shape = [
            dy + dx <= radius,
            np.maximum(dy, dx) <= radius * 0.8,
            dy**2 + dx**2 <= radius**2,
            (dy <= radius) & (dx <= 2),
            (dx <= radius) & (dy <= 2),
        ][label % 5]
        colour = rng.uniform(0, 60, 3)
        colour[0 if label < 5 else 2] += 150
        image[:, shape] = colour[:, None] + rng.normal(0, 25, (3, shape.sum()))
    return images.clip(0, 255).astype(np.uint8), labels


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x_train, y_train = drawn(4_000, rng)
    x_test, y_test = drawn(1_000, rng)
    out = sys.argv[1] if len(sys.argv) > 1 else "shapes.npz"
    np.savez(out, x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)
