"""What a dataset is: files with known contents, where to find them, how to read them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from fedpriv.data.arrays import Arrays


class RawFile(NamedTuple):
    """A file to download, known by its hash; one whose hash nobody publishes is recorded when it arrives."""

    name: str
    sha256: str | None  # of the decompressed bytes, so that any gzip of them serves
    problem: Callable[[Path], str] = lambda path: ""  # what a glance at a file shows to be wrong, or nothing
    largest: int = 2**32  # bytes, packed or not: more is not waited for
    also: tuple[str, ...] = ()  # paths below a mirror's folder where others keep the same contents


@dataclass(frozen=True)
class Dataset:
    """A dataset by name; one without files needs no network."""

    name: str
    files: tuple[RawFile, ...]
    public: tuple[str, ...]  # base URLs, each followed by the name of a file
    decode: Callable[[Path], Arrays]  # the folder of the raw files -> arrays
    licence: str
    citation: str
    contents: str = "images"  # what its examples are, as a list of datasets says it
    writers: int = 0  # so many own the training examples; 0: nobody knows who owns what
    gives: ClassVar[Literal["images", "features"]] = "images"

    @property
    def network(self) -> bool:
        """Say whether the public source needs one."""
        return bool(self.files)
