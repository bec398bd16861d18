"""From what features are seen: directions of public images; free of torch."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedpriv.data import fundus_synthetic
from fedpriv.data.characters import enlarge
from fedpriv.data.own import Npz, channels_first
from fedpriv.errors import BadInput
from fedpriv.streams import Streams

LARGEST = 1.5  # norm of any features
ROUNDED = 1 - 2.0**-10  # half precision does not take a norm above LARGEST again
ALONE = "no other image of these data takes part"  # what a note says of such features
FLAT = 1e-12  # share of the largest variance below which public images do not spread


MOST_PUBLIC = 5_000  # examples: as many square are the products among which directions are found


class Public(NamedTuple):
    """Public images, levels 0..255 `[n, h, w]` or `[n, h, w, 3]`, or one's own as `Arrays` has them."""

    images: np.ndarray
    labels: np.ndarray | None  # None: nobody knows them
    same: tuple[str, ...]  # datasets whose labels mean the same
    words: str


def own_public(own: Npz) -> Public:
    """Return the public examples of a file, `x_public`, and their labels where it has `y_public`.

    They have the layout of x_train, and labels mean what those of y_train do. What is not so is BadInput.
    """
    path, arrays = Path(own.npz), own.read("x_public", "y_public")
    if "x_public" not in arrays:
        raise BadInput(f"{path}: found no x_public, allowed: public examples, with model.basis own")
    x, y = channels_first(arrays["x_public"]), arrays.get("y_public")
    if not 1 < len(x) <= MOST_PUBLIC:
        raise BadInput(f"{path}: x_public: found {len(x):,} examples, allowed: 2 to {MOST_PUBLIC:,}")
    if x.dtype.kind == "f" and not np.isfinite(x).all():
        raise BadInput(f"{path}: x_public: found numbers that are not finite, allowed: finite ones")
    if y is not None and (y.dtype.kind not in "iu" or y.shape != (len(x),)):
        raise BadInput(
            f"{path}: y_public: found {y.dtype} {list(y.shape)}, allowed: whole numbers [{len(x)}]"
        )
    labels = y if y is not None and len(np.unique(y)) > 1 else None
    return Public(x, labels, (own.name,), f"the {len(x):,} public examples of {path.name}")


class Basis(NamedTuple):
    """What features are seen from."""

    middle: np.ndarray  # [c]
    directions: np.ndarray  # [c, k], scaled


def digits() -> Public:
    """Return scikit-learn's digits, 20 x 20 pixels in the middle of a frame of 28 x 28."""
    from sklearn.datasets import load_digits

    pixels, labels = map(np.asarray, load_digits(return_X_y=True))
    images = np.pad(enlarge(pixels.reshape(-1, 8, 8), 20), ((0, 0), (4, 4), (4, 4)))
    return Public(images, labels, ("mnist", "digits"), "the 1,797 public 8x8 digits of scikit-learn")


VARIANTS = 8  # of each digit


def varied_digits() -> Public:
    """Return the digits and `VARIANTS` of each, turned, scaled, sheared, moved and with other greys."""
    from scipy.ndimage import affine_transform

    plain, rng = digits(), Streams(0, "digits").numpy("variants")
    middle = np.full(2, 13.5)

    def variant(image: np.ndarray) -> np.ndarray:
        turn, shear = float(rng.uniform(-0.3, 0.3)), float(rng.uniform(-0.25, 0.25))
        rotated = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        matrix = rotated @ np.array([[1, shear], [0, 1]]) / rng.uniform(0.85, 1.15, (2, 1))
        offset = middle - matrix @ middle + rng.uniform(-2, 2, 2)
        # Its types know no offset of two numbers.
        moved = affine_transform(image / 255, matrix, offset, order=1)  # pyright: ignore[reportArgumentType]
        return np.rint(255 * moved ** rng.uniform(0.6, 1.6)).astype(np.uint8)

    images = np.stack([variant(image) for image in plain.images for _ in range(VARIANTS)])
    assert plain.labels is not None
    return plain._replace(
        images=np.concatenate([plain.images, images]),
        labels=np.concatenate([plain.labels, plain.labels.repeat(VARIANTS)]),
        words=f"{plain.words} and {VARIANTS} random variants of each",
    )


def fundus() -> Public:
    """Return the fundus photographs that `fedpriv.data.fundus_synthetic` draws."""
    words = f"{sum(fundus_synthetic.GRADES)} synthetic fundus photographs, equally many of each grade"
    return Public(*fundus_synthetic.images(), ("aptos", "fundus_synthetic"), words)


BASES: dict[str, Callable[[], Public]] = {
    "digits": digits,
    "digits_varied": varied_digits,
    "fundus_even": fundus,
}


def seen_from(known: np.ndarray, count: int) -> Basis:
    """Return the first `count` principal directions of public coefficients `[n, c]`.

    Each is divided by the root of the standard deviation along it, and all by the mean norm that public
    features then have. Which way a direction points is fixed by its largest coefficient. More directions
    than the images spread along are BadInput.
    """
    middle = known.mean(axis=0, dtype=np.float64)
    centred = known - middle
    # Of few images there are fewer products than of coefficients.
    few = len(known) <= known.shape[1]
    squares, sides = np.linalg.eigh(centred @ centred.T if few else centred.T @ centred)
    most = min(len(known) - 1, int((squares > FLAT * squares[-1]).sum()))
    if not 0 < count <= most:
        raise BadInput(f"model.directions: found {count}, allowed: 1 to {most}")
    squares, sides = squares[::-1][:count], sides[:, ::-1][:, :count]
    directions = centred.T @ sides / np.sqrt(squares) if few else sides
    largest = np.abs(directions).argmax(axis=0)
    directions *= np.sign(directions[largest, np.arange(count)])
    directions /= (squares / len(known)) ** 0.25
    directions /= np.linalg.norm(centred @ directions, axis=1).mean()
    return Basis(middle, directions)


def basis_features(basis: Basis, coefficients: np.ndarray) -> np.ndarray:
    """Return the features `[n, k]`, float16, of coefficients `[n, c]`; none has a norm above LARGEST."""
    made = np.empty((len(coefficients), basis.directions.shape[1]), np.float16)
    for start in range(0, len(coefficients), 1000):  # so that float64 copies stay small
        rows = (coefficients[start : start + 1000] - basis.middle) @ basis.directions
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        made[start : start + 1000] = rows * np.minimum(1, LARGEST * ROUNDED / np.maximum(norms, 1e-30))
    return made


def known_labels(public: Public, dataset: str) -> np.ndarray:
    """Return the labels of public images; BadInput where they are not those of the dataset, or not known."""
    if public.labels is None or dataset not in public.same:
        raise BadInput(
            f"learn_from: found public with dataset {dataset}, allowed: private, for nobody knows what "
            f"{public.words} are among its classes"
        )
    return public.labels.astype(np.int64)


def note_on(
    public: Public, seen: Basis, known: np.ndarray, dataset: str, test: np.ndarray, labels: np.ndarray
) -> str:
    """Note on features seen from `public`, whose own coefficients are `known`.

    Where `labels` mean what those of the public images mean, that is what these reach alone.
    """
    words = (
        f", seen in the first {seen.directions.shape[1]} principal directions of {public.words}, "
        f"norms at most {LARGEST}; {ALONE}"
    )
    if dataset in public.same and public.labels is not None:
        from sklearn.linear_model import LogisticRegression

        x = basis_features(seen, known).astype(np.float64)
        fitted = LogisticRegression(max_iter=1000).fit(x, public.labels)
        alone = float(fitted.score(test.astype(np.float64), labels))
        words += f"; on public data alone, ε = 0, a logistic regression reaches {100 * alone:.1f} % in test"
    return words
