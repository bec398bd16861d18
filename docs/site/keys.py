"""Pages made while the site is built (`mkdocs.yml`): the README, and every column of a trace."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from fedpriv.docs import columns


def on_files(files: Any, config: Any) -> Any:
    """Add index.md and trace.md to what is built."""
    readme = (Path(config.config_file_path).parent / "README.md").read_text(encoding="utf-8")
    for name, text in {"index.md": home(readme), "trace.md": columns.columns_page()}.items():
        files.append(File.generated(config, name, content=text))
    return files


def home(readme: str) -> str:
    """Return the README as a page of docs/: its links begin there."""
    return re.sub(r"\]\((?!https?:|#)(docs/)?", lambda link: "](" if link[1] else "](../", readme)
