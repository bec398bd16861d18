"""Write a file whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; move it there when the block ends well, remove it otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix is kept: writers choose their format by it.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
