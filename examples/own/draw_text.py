"""Cut the reference of the Python language, as it comes with every Python, into sequences of characters.

The text is that of `help("assert")` and the like, 79 topics in Python 3.11 (PSF licence, version 2). A client
is a piece of 1,000 characters of one topic, an example 50 characters in a row and, for each of them, the one
that comes next. Every tenth topic is tested on. The alphabet is that of ASCII: public, and not of the data.
"""

import sys
from pydoc_data.topics import topics

import numpy as np

PIECE, LENGTH = 1_000, 50
CHARACTERS = 96  # 0: whatever is not of ASCII; 1 to 95: from the space to the tilde
IGNORED = -1  # a label that counts for nothing


def tokens(text: str) -> np.ndarray:
    """Return a text, its blanks and ends of lines made one space, as numbers below `CHARACTERS`."""
    codes = np.array([ord(letter) for letter in " ".join(text.split())])
    return np.where((codes >= 32) & (codes <= 126), codes - 31, 0)


def examples(piece: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs `[n, LENGTH]` and what follows each character; beyond the end nothing counts."""
    n = -(-(len(piece) - 1) // LENGTH)
    padded = np.pad(piece, (0, n * LENGTH + 1 - len(piece)), constant_values=IGNORED)
    x, y = padded[:-1].reshape(n, LENGTH), padded[1:].reshape(n, LENGTH)
    return np.maximum(x, 0), y


def drawn(texts: dict[str, str]) -> dict[str, np.ndarray]:
    """Return the arrays of a dataset of one's own; an owner is a topic and the number of the piece in it."""
    pieces = {"x_train": [], "y_train": [], "x_test": [], "y_test": []}
    owner = []
    for place, (topic, text) in enumerate(sorted(texts.items())):
        split, codes = "test" if place % 10 == 0 else "train", tokens(text)
        for number, start in enumerate(range(0, len(codes) - LENGTH, PIECE)):
            x, y = examples(codes[start : start + PIECE + 1])
            pieces[f"x_{split}"].append(x)
            pieces[f"y_{split}"].append(y)
            owner += [f"{topic} {number}"] * len(x) if split == "train" else []
    arrays = {name: np.concatenate(parts) for name, parts in pieces.items()}
    return arrays | {"owner": np.array(owner), "classes": np.array(CHARACTERS)}


if __name__ == "__main__":
    out = sys.argv[1] if len(sys.argv) > 1 else "text.npz"
    np.savez(out, **drawn(topics))
