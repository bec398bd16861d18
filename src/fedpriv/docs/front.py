"""The README, with its tables as the kept ones are now.

Before each stands a comment that says what it shows; `make docs` writes what is below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from fedpriv.docs import grid, published
from fedpriv.docs.papers import REFERENCE
from fedpriv.frozen import Frozen

# What a comment begins with: what it asks for, and the lines of that.
TABLES: dict[str, tuple[type[Frozen], Callable[[Any, Path], Iterator[str]]]] = {
    "table": (published.Published, published.lines),
    "grid": (grid.Grid, grid.lines),
}

# The comment, and the lines of the table below it.
BLOCK = re.compile(rf"(<!-- ({'|'.join(TABLES)})\n((?s:.*?))-->\n)(?:\n(?:\|.*\n)+)?")


def page(root: Path) -> str:
    """Return README.md with its tables written anew."""

    def written(block: re.Match[str]) -> str:
        kind, lines = TABLES[block[2]]
        asked = kind.model_validate(yaml.safe_load(block[3]))
        return block[1] + "\n" + "".join(lines(asked, root / REFERENCE))

    return BLOCK.sub(written, (root / "README.md").read_text(encoding="utf-8"))
