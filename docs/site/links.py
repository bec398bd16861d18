"""What mkdocs asks for while it builds the pages (`mkdocs.yml`): where links go that leave docs/.

In the repository they lead to its files. Beside a built page there are the pictures of the reference results
alone; of all other links the words remain.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\((?P<target>[^()\s]+)\)")
PICTURES = "results/reference"  # in the repository, and among the pages


def on_files(files: Any, config: Any) -> Any:
    """Add the pictures to what is built."""
    root = Path(config.config_file_path).parent
    for path in sorted((root / PICTURES).rglob("*.png")):
        files.append(File.generated(config, str(path.relative_to(root)), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the text of a page with links within the pages alone."""
    return within(markdown, page.file.src_uri)


def within(markdown: str, page: str) -> str:
    """Return the text of `page`, a path below docs/, whose links stay there or are gone."""
    here = posixpath.dirname(page)

    def kept(link: re.Match[str]) -> str:
        there = posixpath.normpath(posixpath.join(here, link["target"]))
        if not there.startswith("../"):
            return link[0]
        if not link["picture"]:
            return link["text"]
        return f"![{link['text']}]({posixpath.relpath(there.removeprefix('../'), here or '.')})"

    return LINK.sub(kept, markdown)
