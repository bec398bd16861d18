"""YAML files as mappings, and one mapping laid over another."""

from pathlib import Path
from typing import Any

import yaml

from fedpriv.errors import BadInput

DISCRIMINATORS = ("name", "law")
PARTS = ("paper", "runs", "tables", "figures", "claims")  # the files of a paper's folder


def merge(below: Any, above: Any) -> Any:
    """Lay `above` over `below`: dicts merge by key, unless they name different kinds; the rest replaces."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    if any(below.get(key, above.get(key)) != above.get(key, below.get(key)) for key in DISCRIMINATORS):
        return above
    return below | {key: merge(below[key], value) if key in below else value for key, value in above.items()}


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file; a missing or malformed file is BadInput naming it."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: found no readable file ({error.strerror}), allowed: a YAML file") from None
    return parse_yaml(text, path)


def read_folder(folder: Path) -> dict[str, Any]:
    """Return the mapping that the files of a paper's folder are together."""
    files = [folder / f"{part}.yaml" for part in PARTS]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files if file.exists())
    return parse_yaml(text, folder)


def parse_yaml(text: str, path: Path) -> dict[str, Any]:
    """Return the mapping that a text is."""
    try:
        content = yaml.safe_load(text)
    except RecursionError:
        raise BadInput(f"{path}: found keys within keys without end, allowed: a preset or a paper") from None
    except yaml.YAMLError as error:
        raise BadInput(f"{path}: found no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise BadInput(f"{path}: found {type(content).__name__}, allowed: a mapping of keys")
    return content
