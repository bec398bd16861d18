"""README, findings and guarantees from their sources in docs/source: prose with quotes, and tables.

Before each table stands a comment that says what it shows. The pages have the tables and the numbers, and no
comment.
"""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from fedpriv.docs import quotes
from fedpriv.docs.papers import REFERENCE
from fedpriv.docs.tables import TABLES

BLOCK = re.compile(rf"<!-- ({'|'.join(TABLES)})\n((?s:.*?))-->\n")
# Pages by their sources.
SOURCES = {
    "README.md": "README.md",
    "docs/findings.md": "findings.md",
    "docs/guarantees.md": "guarantees.md",
}


def pages(root: Path) -> dict[Path, str]:
    """Return the text of each page, by its path."""
    return {root / page: written(root, root / "docs/source" / source) for page, source in SOURCES.items()}


def written(root: Path, source: Path) -> str:
    """Return a source with its tables and its numbers as they are in the reference results now."""
    reference = root / REFERENCE

    def table(block: re.Match[str]) -> str:
        asked = TABLES[block[1]].model_validate(yaml.safe_load(block[2]))
        return "".join(asked.lines(reference))

    return quotes.filled(BLOCK.sub(table, source.read_text(encoding="utf-8")), reference)
