"""One published experiment, as the YAML of its folder declares it.

The YAML is read without what a reader would misread. Runs as a paper declares them, with what they share,
become runs that say everything themselves.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import reduce
from graphlib import CycleError, TopologicalSorter
from itertools import combinations, product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import yaml
from pydantic import Field, SerializeAsAny, StringConstraints, ValidationInfo, WithJsonSchema, field_validator

from fedpriv.errors import BadInput, plain, require_known, short_repr
from fedpriv.frozen import DECIMAL, DISCRIMINATORS, Count, Frozen, Name, chosen_from, parse
from fedpriv.paper.arithmetic import pieces, runs_in
from fedpriv.paper.claims import Claim
from fedpriv.paper.figures import FIGURES, FigureSpec
from fedpriv.paper.tables import TABLES, RunsTable, Scripted, TableSpec, accuracy_tables, resolve_tables
from fedpriv.registry import Registry

FILES = ("paper.yaml", "runs.yaml", "tables.yaml", "figures.yaml", "claims.yaml")  # of a paper's folder

LARGEST = 1_000_000  # bytes of a file, many times the largest that there is: to read more takes minutes
YAML = "tag:yaml.org,2002:"  # before the names of its types
NUMBERS = ("int", "float")
TYPES = (*NUMBERS, "str", "bool", "null", "seq", "map")  # neither dates nor bytes, which nothing here takes


class Loader(yaml.SafeLoader):
    """The safe loader, but a key stands once in a mapping, a number is decimal, and types are plain."""

    def __init__(self, text: str, where: str) -> None:
        super().__init__(text)
        self.where = where

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
        kind = node.tag.removeprefix(YAML)
        if kind in NUMBERS and not DECIMAL.fullmatch(node.value):
            raise self.refused(node, plain(node.value), "a decimal number, or text in quotes")
        if kind not in TYPES:
            what = f"{plain(node.value)}," if isinstance(node, yaml.ScalarNode) else "a value"
            words = f"{what} of the type {plain(kind)}"
            raise self.refused(node, words, "a number, yes or no, text (in quotes), a list or keys")
        try:
            return super().construct_object(node, deep=deep)
        except (yaml.YAMLError, RecursionError, BadInput):
            raise
        except Exception:  # of Python's own readers: a month 13, a number of 10,000 digits
            raise self.refused(node, plain(node.value), "a value") from None

    def refused(self, at: yaml.Node, piece: str, allowed: str) -> BadInput:
        """Return the error that names the line."""
        return BadInput(f"{self.where}: line {at.start_mark.line + 1}: found {piece}, allowed: {allowed}")


def read_value(text: str, where: str) -> Any:
    """Return a value of one line as files have them; BadInput says what is wrong `where`."""
    try:
        return Loader(text, where).get_single_data()
    except (yaml.YAMLError, RecursionError):
        raise BadInput(f"{where}: found {plain(text)}, allowed: a value as YAML has it") from None


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file; a missing or malformed file is BadInput naming it."""
    try:
        if (size := path.stat().st_size) > LARGEST:
            raise BadInput(f"{path}: found {size:,} bytes, allowed: at most {LARGEST:,}")
        text = path.read_bytes().decode()
    except OSError as error:
        raise BadInput(f"{path}: found no readable file ({error.strerror}), allowed: a YAML file") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: found no UTF-8 at byte {error.start}, allowed: a YAML file") from None
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
    """Keys of all files of a paper's folder; a key is of one file."""
    require_known(str(folder), sorted(path.name for path in folder.glob("*.yaml")), FILES)
    keys: dict[str, Key] = {}
    for file in (name for name in FILES if (folder / name).exists()):
        for key, value in read_yaml(folder / file).items():
            if key in keys:
                both = f"{keys[key].file} and {file}"
                raise BadInput(f"{folder}: {key}: found in {both}, allowed: in one of them")
            keys[key] = Key(file, value)
    return keys


def merge(below: Any, above: Any) -> Any:
    """Lay `above` over `below`: dicts merge by key, unless they name different kinds; the rest replaces."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    if "module" in above:  # a network of one's own: its path says the kind
        above = {"name": "module"} | above
    if any(below.get(key, above.get(key)) != above.get(key, below.get(key)) for key in DISCRIMINATORS):
        return above
    return below | {key: merge(below[key], value) if key in below else value for key, value in above.items()}


WORD = r"^[a-z0-9_]+$"
PLACEHOLDER = re.compile(r"\{(.*?)\}")
Word = Annotated[Name, WithJsonSchema({"anyOf": [{"type": "string", "pattern": WORD}, {"type": "integer"}]})]
Words = Annotated[tuple[Word, ...], Field(min_length=1)]


class Part(Frozen, extra="allow"):
    """A fragment of a run: any of its keys, laid over the parts that it uses."""

    uses: tuple[str, ...] = ()
    """Parts, in any order: no two may say different things about one key."""


class DeclaredRun(Part, coerce_numbers_to_str=True):
    """A run, or with `over` a family of runs: one for every choice of a word from each list.

    The words stand in the name and in `uses`, as in `"{data}_n{clients}"`.
    """

    over: dict[Name, Words] = {}
    """placeholder: its words."""


class DeclaredRuns(Frozen, extra="ignore"):
    """What a paper says about its runs."""

    parts: dict[Name, Part] = {}
    runs: dict[str, DeclaredRun]


def runs_of(content: Mapping[str, Any], where: str) -> dict[str, dict[str, Any]]:
    """Return the runs that the keys `parts` and `runs` of a paper declare, in their order.

    What a run says itself is laid over its parts.
    """
    declared = parse(DeclaredRuns.model_validate, content, where)
    parts = lay_parts(declared.parts, where)
    made: dict[str, str] = {}
    runs: dict[str, dict[str, Any]] = {}
    for template, run in declared.runs.items():
        for name, uses in choices(template, run, f"{where}: runs.{template}"):
            if name in made:
                makers = f"{name} made by {made[name]} and by {template}"
                raise BadInput(f"{where}: runs: found {makers}, allowed: every run once")
            made[name] = template
            runs[name] = lay_over_parts(run, uses, parts, f"{where}: runs.{name}")
    return runs


def choices(template: str, run: DeclaredRun, where: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the parts of every run of a family; a run that is none is its own family."""
    require_known(f"{where}.over", run.over, PLACEHOLDER.findall(template) or ["a placeholder of the name"])
    for text in (template, *run.uses):
        require_known(f"{where}: {text}", PLACEHOLDER.findall(text), run.over or ["a key of over"])
    for words in product(*run.over.values()):
        chosen = dict(zip(run.over, words, strict=True))
        name, *uses = (
            PLACEHOLDER.sub(lambda match, chosen=chosen: chosen[match[1]], text)
            for text in (template, *run.uses)
        )
        yield name, uses


def lay_parts(parts: Mapping[str, Part], where: str) -> dict[str, dict[str, Any]]:
    """Return every part laid over those that it uses; parts that use each other in a circle are BadInput."""
    for name, part in parts.items():
        require_known(f"{where}: parts.{name}.uses", part.uses, parts)
    try:
        order = list(TopologicalSorter({name: part.uses for name, part in parts.items()}).static_order())
    except CycleError as error:
        circle = " uses ".join(reversed(error.args[1]))
        raise BadInput(f"{where}: parts: found {circle}, allowed: parts that do not use themselves") from None
    whole: dict[str, dict[str, Any]] = {}
    for name in order:
        whole[name] = lay_over_parts(parts[name], parts[name].uses, whole, f"{where}: parts.{name}")
    return whole


def lay_over_parts(part: Part, uses: Iterable[str], parts: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Config of `part`, laid over the parts it uses; parts that contradict each other are BadInput."""
    uses = list(dict.fromkeys(uses))
    require_known(f"{where}.uses", uses, parts)
    for left, right in combinations(uses, 2):
        for key, value, other in conflicts(parts[left], parts[right]):
            raise BadInput(
                f"{where}: {key}: found {short_repr(value)} in part {left} and {short_repr(other)} in part "
                f"{right}, allowed: one value in all parts that are used together"
            )
    return reduce(merge, [*(parts[name] for name in uses), part.model_extra or {}], {})


def conflicts(left: Any, right: Any, at: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield each key about which two fragments say different things, with what they say."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in (key for key in left if key in right):
            yield from conflicts(left[key], right[key], f"{at}.{key}" if at else str(key))
    elif left != right:
        yield at, left, right


# What a browser may be sent to: nothing that runs, and nothing of this machine.
Link = Annotated[str, StringConstraints(pattern=r"^https?://[0-9A-Za-z][!-~]*$")]


class Paper(Frozen):
    """One published experiment: its runs, what is rendered from them, what it printed and what it claims."""

    paper: Name
    """Its name: that of its folder."""
    title: str
    authors: tuple[str, ...] = Field(min_length=1)
    """As they are printed."""
    year: Count
    url: Link
    """Where it can be read."""
    defaults: dict[str, Any] = {}
    """What every run says unless its parts or itself say otherwise; keys of a [Run](#run)."""
    parts: dict[Name, Part] = {}
    """Fragments that runs share."""
    runs: dict[Name, dict[str, Any]]
    """Each a [DeclaredRun](#declaredrun)."""
    table_defaults: dict[str, dict[str, Any]] = {}
    """By kind, what its tables say unless they say otherwise."""
    tables: dict[Name, Annotated[SerializeAsAny[TableSpec], chosen_from(TABLES, "kind")]] = {}
    """Name of a file -> a table, chosen by `kind`."""
    figures: dict[Name, Annotated[SerializeAsAny[FigureSpec], chosen_from(FIGURES, "kind")]] = {}
    """Name of a file -> a figure, chosen by `kind`."""
    claims: tuple[Claim, ...] = ()
    """What the paper claims, made checkable."""
    notes: tuple[str, ...] = ()
    """What the paper leaves open, and how it is read here."""

    @field_validator("tables", mode="before")
    @classmethod
    def _self_contained(cls, tables: Any, info: ValidationInfo) -> Any:
        return resolve_tables(tables, info.data.get("table_defaults", {}))

    @field_validator("tables", mode="after")
    @classmethod
    def _lines_of_globs(cls, tables: dict[str, TableSpec], info: ValidationInfo) -> dict[str, TableSpec]:
        globs = {name: spec for name, spec in tables.items() if isinstance(spec, RunsTable) and spec.match}
        return tables | {name: spec.matched(info.data.get("runs", {})) for name, spec in globs.items()}

    @property
    def by(self) -> str:
        """Return the authors' names in one text."""
        return ", ".join(self.authors)

    def showing(self, names: Container[str]) -> "Paper":
        """Return the paper with these tables and figures alone, the runs that they read, and no claims."""
        tables = {name: table for name, table in self.tables.items() if name in names}
        figures = {name: figure for name, figure in self.figures.items() if name in names}
        read = [run for spec in (*tables.values(), *figures.values()) for run in spec.runs()]
        runs = {name: run for name, run in self.runs.items() if name in read}
        return self.model_copy(update={"runs": runs, "tables": tables, "figures": figures, "claims": ()})


# Folders of papers that installed packages bring.
PAPERS: Registry[Path] = Registry("papers", Path, {})


def homes(*folders: Path) -> dict[str, Path]:
    """Folder that each paper's own is in, by its name: of those in `folders` and of those of packages.

    A paper that is in two of them is BadInput naming these.
    """
    there = [(path.parent.name, folder) for folder in folders for path in folder.glob("*/paper.yaml")]
    by_name: dict[str, Path] = {}
    for name, folder in (*there, *((name, path.parent) for name, path in PAPERS.items())):
        other = by_name.setdefault(name, folder)
        if other.resolve() != folder.resolve():
            raise BadInput(f"papers: found {name} in {other} and in {folder}, allowed: in one of them")
    return dict(sorted(by_name.items()))


def load_paper(name: str, folder: Path) -> Paper:
    """Read the files of `folder/<name>/`; a table, figure or claim of a run that is not there is BadInput."""
    path = folder / name
    files = read_files(path)
    content = {key: declared.value for key, declared in files.items()}
    where = {key: str(path / declared.file) for key, declared in files.items()}

    whole = {**content, "runs": runs_of(content, where.get("runs", str(path)))}
    paper = parse(Paper.model_validate, whole, lambda key: where.get(str(key[0]) if key else "", str(path)))
    if paper.paper != name:
        raise BadInput(f"{path}: paper: found {plain(paper.paper)}, allowed: {name}, as the folder is called")
    for kind in ("tables", "figures"):
        for item, spec in getattr(paper, kind).items():
            if isinstance(spec, Scripted):
                spec.find(path / f"{kind}.py", f"{path}: {kind}.{item}")
            require_known(f"{path}: {kind}.{item}", spec.runs(), paper.runs)
            named = runs_in(*pieces(spec.caption))
            require_known(f"{path}: {kind}.{item}.caption", named, spec.runs())
    for claim in paper.claims:
        tables = accuracy_tables(paper.tables)
        claim.validate_names(f"{where['claims']}: claims.{claim.id}", tables, paper.runs)
    return paper
