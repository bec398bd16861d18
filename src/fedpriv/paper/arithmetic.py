"""The arithmetic of claims: one comparison of sums, products and calls, written as Python writes it.

    accuracy(bdp) - accuracy(dp) >= 0.095

A caption has places for what a side of one may hold, with names of runs:

    DP stops at {accuracy(iid_n100_dp)}, {accuracy(iid_n100_dp) - accuracy(iid_n100_tight)} points above.

It is read by Python's own parser and never run: what is not listed here is refused with its place in the
line. How a call is read off the runs is for `fedpriv.report.claims` to say.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import AfterValidator, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from fedpriv.errors import BadInput, plain
from fedpriv.paper.spends import MEASURES, SpendInWords, SpendSelector

T = TypeVar("T")
RUN = "run"  # what the one private run of a row is called, and by default the one run of a case
# What a name must be, in a table; in a case it is that of a run.
COLUMN, PRIVATE, PRINTED = "column", "column with a private run", "column with a published accuracy"
COUNTED = "column read within one ε"
# What a call is given beside names: each as a line has it.
SPEND, MEASURE, AUDIT, NUMBER, VALUE = '"moments C"', '"best_drawn"', '"outlier"', "1.0", "VALUE"
LONGEST, LARGEST = 400, 1e38  # characters of a line, and its numbers
PLACE = re.compile(r"\{([^{}]*)\}")  # in a caption


class Function(NamedTuple):
    """What may be called: the kinds of its names and of what follows them, and what it is."""

    names: tuple[str, ...]
    others: tuple[str, ...]  # the last one may be left out if it is a measure
    meaning: str
    of_accuracies: bool = False  # not of accounts alone: other data have other ones
    several: bool = False  # more names of the last kind may follow, and each is a comparison


FUNCTIONS = {
    "accuracy": Function(
        (COLUMN,),
        (MEASURE,),
        "the accuracy of a column, read as the table reads it; of a run, at the last round over all clients, "
        'or by "best_drawn" that of sampled clients at the best round, which the test split chooses; 0 where '
        "no round is affordable",
        of_accuracies=True,
    ),
    "accuracy_within": Function(
        (PRIVATE,),
        (NUMBER, SPEND),
        "the accuracy at the last evaluated round before that ε first exceeds the number; 0 where every one "
        "does",
        of_accuracies=True,
    ),
    "published": Function((PRINTED,), (), "the published accuracy of a column", of_accuracies=True),
    "gap": Function(
        (COLUMN, COLUMN),
        (),
        "how much more accurate the first is than the second; where it is not, more than anything closes",
        of_accuracies=True,
    ),
    "lead": Function(
        (COLUMN, COLUMN),
        (MEASURE,),
        "how much more accurate the first is than each of the others: a comparison with each",
        of_accuracies=True,
        several=True,
    ),
    "rise": Function(
        (COLUMN, COLUMN),
        (MEASURE,),
        "how much more accurate each is than the one before it: a comparison a step",
        of_accuracies=True,
        several=True,
    ),
    "rounds": Function(
        (COLUMN,),
        (VALUE,),
        "the first evaluated round that is at least so accurate; ∞ where none is",
        of_accuracies=True,
    ),
    "epsilon": Function((PRIVATE,), (SPEND,), "an ε at the last round"),
    "spent": Function((COUNTED,), (), "the ε of a column at the last round, as the column counts it"),
    "delta": Function((PRIVATE,), (SPEND,), "the δ at which an ε is counted"),
    "growth": Function((PRIVATE,), (SPEND,), "by how much an ε grows after the first round"),
    "lower_bound": Function(
        (PRIVATE,),
        (AUDIT, SPEND),
        "the lower bound of an audit under an ε, at the last round",
        of_accuracies=True,  # of distances, which other data have other ones of
    ),
    "upload_bytes": Function((COLUMN,), (), "how many bytes a client sends a round"),
    "float32_bytes": Function((COLUMN,), (), "how many bytes the numbers that it sends are in float32"),
    "abs": Function(
        (), (VALUE,), "a difference, whichever is larger: two comparisons, that neither is larger by so much"
    ),
}


class Call(NamedTuple):
    """Something that is measured: a function, the names it is given, and what follows them."""

    function: str
    names: tuple[str, ...]
    others: tuple[Any, ...]

    def of(self, *kinds: str) -> list[str]:
        """Return its names that must be of one of `kinds`; a column read within one ε is a column."""
        own, kinds = FUNCTIONS[self.function].names, (*kinds, *([COUNTED] if COLUMN in kinds else []))
        return [name for place, name in enumerate(self.names) if own[min(place, len(own) - 1)] in kinds]

    @property
    def measure(self) -> Any:
        """Return at which round an accuracy is read where there is no budget."""
        return next((one for one in self.others if one in [*MEASURES]), "last")

    @property
    def spend(self) -> SpendSelector:
        """Return which ε is meant, of a call that is about one."""
        return next(one for one in self.others if isinstance(one, SpendSelector))


class Operation(NamedTuple):
    """A sum, difference, product or ratio of two terms."""

    sign: str
    left: "Term"
    right: "Term"


Term = float | str | Call | Operation  # a number, the name of one, what is measured, what is made of them


class Comparison(NamedTuple):
    """That the left side is at least, or at most, the right one."""

    left: Term
    at_least: bool
    right: Term


SIGNS: dict[type[ast.AST], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


def terms(term: Term, kind: type[T]) -> Iterator[T]:
    """Yield a term, and those that it is made of, if they are of a kind, from left to right."""
    if isinstance(term, kind):
        yield term
    inner = term[1:] if isinstance(term, Operation) else ()
    if isinstance(term, Call) and VALUE in FUNCTIONS[term.function].others:
        inner = term.others
    for one in inner:
        yield from terms(one, kind)


@cache
def read(line: str) -> Comparison:
    """Return what a line says; one that is no comparison is BadInput naming the place where it goes wrong."""
    found = parsed(line, "one comparison by <= or >=")
    if not isinstance(found, ast.Compare) or [*map(type, found.ops)] not in ([ast.GtE], [ast.LtE]):
        raise refused(line, found, "one comparison by <= or >=")
    sides = term_of(line, found.left), term_of(line, found.comparators[0])
    if not {one.function for side in sides for one in terms(side, Call)} - {"published"}:
        raise refused(line, found, f"something that is measured, by {', '.join(FUNCTIONS)}")
    return Comparison(sides[0], isinstance(found.ops[0], ast.GtE), sides[1])


@cache
def read_term(line: str) -> Term:
    """Return what one side of a comparison says; anything else is BadInput naming where it goes wrong."""
    return term_of(line, parsed(line, "one number, as accuracy(NAME)"))


def parsed(line: str, allowed: str) -> ast.expr:
    """Return the tree of one expression of Python; anything else is BadInput saying what is `allowed`."""
    if len(line) > LONGEST:
        raise wrong(line, 0, f"{len(line)} characters", f"at most {LONGEST}")
    try:
        return ast.parse(line, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        at = (getattr(error, "offset", 0) or len(line) + 1) - 1
        raise wrong(line, at, line[at : at + 20], allowed) from None


def term_of(line: str, node: ast.expr) -> Term:
    """Return what a node of Python's tree stands for."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            if abs(number) <= LARGEST:
                return float(number)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as operand):
            number = term_of(line, operand)
            return -number if isinstance(number, float) else number
        case ast.Name(id=name):
            return name
        case ast.BinOp(left=left, op=op, right=right) if type(op) in SIGNS:
            return Operation(SIGNS[type(op)], term_of(line, left), term_of(line, right))
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in FUNCTIONS:
            return call_of(line, node, name)
        case _:
            pass
    place = node.func if isinstance(node, ast.Call) and not node.keywords else node
    raise refused(line, place, f"a number, a name, + - * / or one of {', '.join(FUNCTIONS)}")


def call_of(line: str, node: ast.Call, name: str) -> Call:
    """Return a call, whose names stand first; the one private run need not be named."""
    function, given = FUNCTIONS[name], node.args
    most = len(given) if function.several else len(function.names)
    first = takewhile(lambda one: isinstance(one, ast.Name), given[:most])
    names = [one.id for one in first if isinstance(one, ast.Name)]
    others = given[len(names) :]
    if not names and function.names == (PRIVATE,):
        names = [RUN]
    least = len([kind for kind in function.others if kind != MEASURE])
    if len(names) < len(function.names) or not least <= len(others) <= len(function.others):
        raise refused(line, node, signature(name))
    told = [argument(line, one, kind) for one, kind in zip(others, function.others, strict=False)]
    return Call(name, tuple(names), tuple(told))


def argument(line: str, node: ast.expr, kind: str) -> Any:
    """Return what a call is given beside names."""
    value = node.value if isinstance(node, ast.Constant) else None
    if kind == VALUE:
        return term_of(line, node)
    if kind == NUMBER and isinstance(value, int | float):
        return float(value)
    if (kind == AUDIT and isinstance(value, str)) or (kind == MEASURE and value in [*MEASURES]):
        return value
    if kind == SPEND and isinstance(value, str):
        try:
            return TypeAdapter(SpendInWords).validate_python(value)
        except ValidationError as error:
            raise wrong(line, start(line, node), value, error.errors()[0]["msg"]) from None
    raise refused(line, node, " or ".join(MEASURES) if kind == MEASURE else f"such as {kind}")


def signature(name: str) -> str:
    """Return how a function is called, as its documentation has it."""
    function = FUNCTIONS[name]
    names = ["NAME"] * len(function.names) + ["..."] * function.several
    return f"{name}({', '.join([*names, *function.others])})"


def start(line: str, node: ast.expr) -> int:
    """Return at which character of a line a node begins: Python counts bytes."""
    return len(line.encode()[: node.col_offset].decode())


def refused(line: str, node: ast.expr, allowed: str) -> BadInput:
    """Return the error about a node."""
    return wrong(line, start(line, node), ast.get_source_segment(line, node) or "", allowed)


def wrong(line: str, at: int, found: str, allowed: str) -> BadInput:
    """Return the error that says what was found, and where in a line."""
    return BadInput(f"{plain(line)}: found {plain(found)} at character {at + 1}, allowed: {allowed}")


def pieces(text: str) -> Iterator[str | Term]:
    """Yield the words of a caption and what its places hold, in order; BadInput names a wrong place."""
    for number, piece in enumerate(PLACE.split(text)):
        yield read_term(piece.strip()) if number % 2 else piece


def caption_runs(text: str) -> list[str]:
    """Return the runs that the places of a caption name."""
    held = [piece for number, piece in enumerate(pieces(text)) if number % 2]
    return [name for term in held for call in terms(term, Call) for name in call.names]


def _checked(text: str) -> str:
    """Return a caption whose places can be read, each a number that is measured of runs."""
    try:
        for number, term in enumerate(pieces(text)):
            if number % 2 and (not [*terms(term, Call)] or not _of_runs(term)):
                found = PLACE.findall(text)[number // 2]
                raise BadInput(f"{found}: found no number of a run, allowed: such as accuracy(RUN)")
    except BadInput as error:
        raise PydanticCustomError("choice", "{said}", {"said": str(error)}) from None
    return text


def _of_runs(term: Term) -> bool:
    """Return whether all that a term names is a run, and no column of a table."""
    return not [*terms(term, str)] and all(
        len(call.of(COLUMN, PRIVATE)) == len(call.names) for call in terms(term, Call)
    )


Caption = Annotated[str, AfterValidator(_checked)]
