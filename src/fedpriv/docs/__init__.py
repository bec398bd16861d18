"""What is generated: the README, findings, guarantees, pages on what the code says.

`python -m fedpriv.docs` writes them in the root of the repository; a test compares them with those there.
"""

from pathlib import Path

from fedpriv.docs import columns, front, papers


def pages(root: Path) -> dict[Path, str]:
    """Return the path and the text of each generated file."""
    docs = root / "docs"
    return {
        docs / "deviations.md": columns.deviations_page(root),
        docs / "stored-runs.md": columns.hours_page(root),
        **front.pages(root),
        **{docs / "papers" / f"{name}.md": text for name, text in papers.pages(root).items()},
    }
