"""Pages made while the site is built (`mkdocs.yml`): every key of the YAML files, every column of a trace."""

from typing import Any

from mkdocs.structure.files import File

from fedpriv.docs import columns, reference


def on_files(files: Any, config: Any) -> Any:
    """Add config.md and trace.md to what is built."""
    for name, text in {"config.md": reference.page(), "trace.md": columns.columns_page()}.items():
        files.append(File.generated(config, name, content=text))
    return files
