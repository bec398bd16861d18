"""What a dataset is: files with known contents, where to find them, how to read them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from fedpriv.data.arrays import Arrays


class RawFile(NamedTuple):
    """A file to download; `sha256` is that of the decompressed bytes, so that any gzip of them serves."""

    name: str
    sha256: str


@dataclass(frozen=True)
class Dataset:
    """A dataset by name; one without files needs no network."""

    name: str
    files: tuple[RawFile, ...]
    public: tuple[str, ...]  # base URLs, each followed by the name of a file
    decode: Callable[[Path], Arrays]  # the folder of the raw files -> arrays
    licence: str
    citation: str
    gives: ClassVar[Literal["images", "features"]] = "images"

    @property
    def network(self) -> bool:
        """Say whether the public source needs one."""
        return bool(self.files)
