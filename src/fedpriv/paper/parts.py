"""Runs as a paper declares them, with what they share, become runs that say everything themselves."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from graphlib import CycleError, TopologicalSorter
from itertools import combinations, product
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from fedpriv.errors import BadInput, Gathered, require_known, short_repr
from fedpriv.frozen import Frozen, Name, parse
from fedpriv.paper.read import merge

WORD = r"^[a-z0-9_]+$"
PLACEHOLDER = re.compile(r"\{(.*?)\}")
OWN = ("uses", "over")  # of a part or a run; all other keys are a run's
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


class Runs(Frozen, extra="ignore"):
    """What a paper says about its runs."""

    parts: dict[Name, Part] = {}
    runs: dict[str, DeclaredRun]


def runs_of(content: Mapping[str, Any], where: str, only: str = "") -> dict[str, dict[str, Any]]:
    """Return the runs that the keys `parts` and `runs` of a paper declare, in their order.

    What a run says itself is laid over its parts. With `only` what cannot make the run of that name is not
    looked at, where anything can. All that is wrong is told together.
    """
    if only and isinstance(declared := content.get("runs"), Mapping):
        some = {name: one for name, one in declared.items() if makes(str(name), only)}
        content = {**content, "runs": some or declared}
    declared = parse(Runs.model_validate, content, where)
    parts = laid_parts(declared.parts, where)
    made: dict[str, str] = {}
    runs: dict[str, dict[str, Any]] = {}
    wrong = Gathered()
    for template, one in declared.runs.items():
        family = Gathered()
        with family.aside():
            for name, uses in choices(template, one, f"{where}: runs.{template}"):
                if name in made:
                    found = f"found {name} made by {made[name]} and by {template}"
                    raise BadInput(f"{where}: runs: {found}, allowed: every run once")
                made[name] = template
                with family.aside():
                    runs[name] = laid(one, uses, parts, f"{where}: runs.{name}")
        wrong.found += family.found[:1]  # what is wrong with one member is often wrong with all
    if only not in runs:
        wrong.told()
    return runs


def makes(template: str, name: str) -> bool:
    """Return whether a family may make the run of that name; a run that is none makes itself."""
    texts = map(re.escape, PLACEHOLDER.split(template)[::2])
    return re.fullmatch("[a-z0-9_]+".join(texts), name) is not None


def choices(template: str, one: DeclaredRun, where: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the parts of every run of a family; a run that is none is its own family."""
    require_known(f"{where}.over", one.over, PLACEHOLDER.findall(template) or ["a placeholder of the name"])
    for text in (template, *one.uses):
        require_known(f"{where}: {text}", PLACEHOLDER.findall(text), one.over or ["a key of over"])
    for words in product(*one.over.values()):
        chosen = dict(zip(one.over, words, strict=True))
        name, *uses = (filled(text, chosen) for text in (template, *one.uses))
        yield name, uses


def filled(text: str, chosen: Mapping[str, str]) -> str:
    """Return `text` with every placeholder replaced by its word."""
    for placeholder, word in chosen.items():
        text = text.replace(f"{{{placeholder}}}", word)
    return text


def laid_parts(parts: Mapping[str, Part], where: str) -> dict[str, dict[str, Any]]:
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
        whole[name] = laid(parts[name], parts[name].uses, whole, f"{where}: parts.{name}")
    return whole


def laid(one: Part, uses: Iterable[str], parts: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return what `one` says, laid over the parts it uses; parts that contradict each other are BadInput."""
    uses = list(dict.fromkeys(uses))
    require_known(f"{where}.uses", uses, parts)
    for left, right in combinations(uses, 2):
        for key, found, other in conflicts(parts[left], parts[right]):
            raise BadInput(
                f"{where}: {key}: found {short_repr(found)} in part {left} and {short_repr(other)} in part "
                f"{right}, allowed: one value in all parts that are used together"
            )
    return reduce(merge, [*(parts[name] for name in uses), one.model_extra or {}], {})


def conflicts(left: Any, right: Any, at: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield each key about which two fragments say different things, with what they say."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in (key for key in left if key in right):
            yield from conflicts(left[key], right[key], f"{at}.{key}" if at else str(key))
    elif left != right:
        yield at, left, right
