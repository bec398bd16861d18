"""The page with every key of the YAML files, made from the schema while the site is built (`mkdocs.yml`)."""

from typing import Any

from mkdocs.structure.files import File

from fedpriv.docs import keys


def on_files(files: Any, config: Any) -> Any:
    """Add config.md to what is built."""
    files.append(File.generated(config, "config.md", content=keys.page()))
    return files
