"""The YAML of presets and papers, without what a reader would misread, and one layer laid over another."""

from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import category

import yaml

from fedpriv.errors import BadInput, Gathered, plain, require_known
from fedpriv.frozen import DECIMAL, DISCRIMINATORS

FILES = ("paper.yaml", "runs.yaml", "tables.yaml", "figures.yaml", "claims.yaml")  # of a paper's folder

NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
LONGEST = 10_000  # characters of one text
LARGEST = 10 * 2**20  # bytes of one file


def unreadable(text: str) -> str:
    """Return what nobody can read in a text: control characters, half a character, more than LONGEST."""
    if len(text) > LONGEST:
        return f"{len(text):,} characters"
    odd = [one for one in text if category(one) in ("Cc", "Cs") and one not in "\n\t"]
    return ascii("".join(odd[:9]))[1:-1]


class Loader(yaml.SafeLoader):
    """The safe loader, but a key stands once in a mapping, a number is decimal, and there are no anchors.

    A few lines of anchors are more keys than any memory holds.
    """

    def __init__(self, text: str, where: str) -> None:
        super().__init__(text)
        self.where = where

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            sign = "*" if isinstance(event, yaml.AliasEvent) else "&"
            raise self.refused(event, f"{sign}{event.anchor}", "no anchors; runs of a paper share `parts`")
        return super().compose_node(parent, index)

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    raise self.refused(key, f"{plain(key.value)} twice", "every key once")
                seen.add((key.tag, key.value))
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if node.tag in NUMBERS and not DECIMAL.fullmatch(node.value):
            raise self.refused(node, plain(node.value), "a decimal number, or text in quotes")
        try:
            value = super().construct_object(node, deep=deep)
        except (yaml.YAMLError, RecursionError, BadInput):
            raise
        except Exception:  # of Python's own readers: a month 13, a number of 10,000 digits
            raise self.refused(node, plain(node.value), "a value") from None
        if isinstance(value, int) and value.bit_length() > 64:
            raise self.refused(node, plain(value), "a number of at most 64 bits")
        if isinstance(value, str) and (wrong := unreadable(value)):
            raise self.refused(node, wrong, f"text without these, of at most {LONGEST:,} characters")
        return value

    def refused(self, at: yaml.Event | yaml.Node, found: str, allowed: str) -> BadInput:
        """Return the error that names the line."""
        return BadInput(f"{self.where}: line {at.start_mark.line + 1}: found {found}, allowed: {allowed}")


def read_value(text: str, where: str) -> Any:
    """Return a value of one line as files have them; BadInput says what is wrong `where`."""
    try:
        return Loader(text, where).get_single_data()
    except (yaml.YAMLError, RecursionError):
        raise BadInput(f"{where}: found {plain(text)}, allowed: a value as YAML has it") from None


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file; a missing or malformed file, or an anchor, is BadInput naming it."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        text = content.decode()
    except OSError as error:
        raise BadInput(f"{path}: found no readable file ({error.strerror}), allowed: a YAML file") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: found no UTF-8 at byte {error.start}, allowed: a YAML file") from None
    if len(content) > LARGEST:
        raise BadInput(f"{path}: found more than {LARGEST:,} bytes, allowed: a preset or a paper")
    try:
        content = Loader(text, str(path)).get_single_data()
    except RecursionError:
        raise BadInput(f"{path}: found keys within keys without end, allowed: a preset or a paper") from None
    except yaml.YAMLError as error:
        raise BadInput(f"{path}: found no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise BadInput(f"{path}: found {type(content).__name__}, allowed: a mapping of keys")
    return content


class Key(NamedTuple):
    """What a paper says under a key, and in which of its files."""

    file: str
    value: Any


def read_files(folder: Path) -> dict[str, Key]:
    """Return what the files of a paper's folder say together; a key is of one file."""
    require_known(str(folder), sorted(path.name for path in folder.glob("*.yaml")), FILES)
    found: dict[str, Key] = {}
    wrong = Gathered()
    for file in (name for name in FILES if (folder / name).exists()):
        with wrong.aside():
            for key, value in read_yaml(folder / file).items():
                if key in found:
                    both = f"{found[key].file} and {file}"
                    raise BadInput(f"{folder}: {key}: found in {both}, allowed: in one of them")
                found[key] = Key(file, value)
    wrong.told()
    return found


def papers_in(folder: Path) -> list[str]:
    """Return the names of the papers in `folder`, each a folder of its own."""
    return sorted(path.parent.name for path in folder.glob("*/paper.yaml"))


def merge(below: Any, above: Any) -> Any:
    """Lay `above` over `below`: dicts merge by key, unless they name different kinds; the rest replaces."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    if any(below.get(key, above.get(key)) != above.get(key, below.get(key)) for key in DISCRIMINATORS):
        return above
    return below | {key: merge(below[key], value) if key in below else value for key, value in above.items()}
