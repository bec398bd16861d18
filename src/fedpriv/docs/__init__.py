"""The pages of docs/ that are generated: every config key, every column of a trace, every
departure from a paper, a page a paper.

`python -m fedpriv.docs` writes them in the root of the repository; a test compares them with those there.
"""

from pathlib import Path

from fedpriv.docs import columns, deviations, keys, papers


def pages(root: Path) -> dict[Path, str]:
    """Return each generated page's path and text."""
    docs = root / "docs"
    return {
        docs / "config.md": keys.page(),
        docs / "trace.md": columns.page(),
        docs / "deviations.md": deviations.page(root),
        **{docs / "papers" / f"{name}.md": text for name, text in papers.pages(root).items()},
    }
