"""The arithmetic of checks: one comparison of sums, products and calls, written as Python writes it.

    accuracy(bdp) - accuracy(dp) >= 0.095

A caption has placeholders for what a side of one may hold, with names of runs:

    DP stops at {accuracy(iid_n100_dp)}, {accuracy(iid_n100_dp) - accuracy(iid_n100_tight)} points above.

Python's own parser reads it, and nothing of it is run: what `parts` does not list is refused.
`fedpriv.report.claims` walks the same tree and reads the calls off the runs.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from fedpriv.errors import BadInput, plain
from fedpriv.paper import metrics
from fedpriv.paper.epsilons import MEASURES, EpsilonSelector, SelectorInWords
from fedpriv.paper.metrics import COLUMN, MEASURE, PRIVATE, RUN, SIGNATURES, signature_text

COMPARISON = "one comparison by <= or >="
LONGEST, LARGEST = 400, 1e38  # characters of a line, and its numbers
SELECTOR = TypeAdapter(SelectorInWords)
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")  # in a caption


class Call(NamedTuple):
    """Something that is measured: a function, the names it is given, and what follows them."""

    function: str
    names: tuple[str, ...]
    arguments: tuple[Any, ...]  # an EpsilonSelector, a word, a number, or the tree of a value

    @property
    def about(self) -> str:
        """Kind of input that the number depends on."""
        return SIGNATURES[self.function].about

    def of(self, *kinds: str) -> list[str]:
        """Return its names that must stand for one of `kinds`."""
        own = SIGNATURES[self.function].names
        return [name for index, name in enumerate(self.names) if own[min(index, len(own) - 1)] in kinds]

    @property
    def selectors(self) -> list[EpsilonSelector]:
        """The ε that it is about, if any."""
        return [argument for argument in self.arguments if isinstance(argument, EpsilonSelector)]


class Comparison(NamedTuple):
    """That the left side is at least, or at most, the right one."""

    left: ast.expr
    at_least: bool
    right: ast.expr


@cache
def comparison(line: str) -> Comparison:
    """Read a line; one that is no comparison is BadInput naming the piece that is wrong."""
    tree = parse_line(line, COMPARISON)
    if not isinstance(tree, ast.Compare) or [*map(type, tree.ops)] not in ([ast.GtE], [ast.LtE]):
        raise node_error(line, tree, COMPARISON)
    sides = tree.left, tree.comparators[0]
    calls = [call.function for side in sides for call in parts(side, line) if isinstance(call, Call)]
    if not {*calls} - {"published"}:
        raise node_error(line, tree, f"something that is measured, by {', '.join(SIGNATURES)}")
    return Comparison(sides[0], isinstance(tree.ops[0], ast.GtE), sides[1])


def parse_line(line: str, allowed: str) -> ast.expr:
    """Return the tree of one expression of Python; anything else is BadInput saying what is `allowed`."""
    if len(line) > LONGEST:
        raise piece_error(line, f"{len(line)} characters", f"at most {LONGEST}")
    try:
        return ast.parse(line, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        at = (getattr(error, "offset", 0) or len(line) + 1) - 1
        raise piece_error(line, line[at : at + 20], allowed) from None


def parts(node: ast.expr, line: str = "") -> Iterator[Call | str]:
    """Yield the calls in a tree, and the names of numbers, from left to right.

    Numbers, names, + - * / and calls of `SIGNATURES` are all that it may hold: BadInput names anything else.
    """
    match node:
        case ast.Constant(value=int() | float() as number) if (
            not isinstance(number, bool) and abs(number) <= LARGEST
        ):
            pass
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as operand):
            yield from parts(operand, line)
        case ast.Name(id=name):
            yield name
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right=right):
            yield from parts(left, line)
            yield from parts(right, line)
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in SIGNATURES:
            call = call_of(node, line)
            yield call
            for argument in call.arguments:
                if isinstance(argument, ast.expr):
                    yield from parts(argument, line)
        case ast.Call(func=wrong, keywords=[]) | wrong:
            raise node_error(line, wrong, f"a number, a name, + - * / or one of {', '.join(SIGNATURES)}")


def call_of(node: ast.Call, line: str = "") -> Call:
    """Return a call, whose names stand first; the one private run need not be named."""
    name, trees = node.func.id if isinstance(node.func, ast.Name) else "", node.args
    signature = SIGNATURES[name]
    most = len(trees) if signature.several else len(signature.names)
    first = takewhile(lambda tree: isinstance(tree, ast.Name), trees[:most])
    names = [tree.id for tree in first if isinstance(tree, ast.Name)]
    others = trees[len(names) :]
    if not names and signature.names == (PRIVATE,):
        names = [RUN]
    least = len(signature.arguments) - signature.arguments.count(MEASURE)
    if len(names) < len(signature.names) or not least <= len(others) <= len(signature.arguments):
        raise node_error(line, node, signature_text(name))
    arguments = [argument(tree, kind, line) for tree, kind in zip(others, signature.arguments, strict=False)]
    return Call(name, tuple(names), tuple(arguments))


def argument(node: ast.expr, kind: str, line: str) -> Any:
    """Argument of a call beside its names."""
    match kind, node:
        case metrics.VALUE, _:
            return node
        case metrics.NUMBER, ast.Constant(value=int() | float() as value):
            return float(value)
        case metrics.AUDIT, ast.Constant(value=str() as value):
            return value
        case metrics.MEASURE, ast.Constant(value=value) if value in MEASURES:
            return value
        case metrics.ACCOUNTANT, ast.Constant(value=str() as value):
            return selector_in_words(value, line)
        case _:
            allowed = " or ".join(MEASURES) if kind == MEASURE else f"such as {kind}"
            raise node_error(line, node, allowed)


def selector_in_words(words: str, line: str) -> EpsilonSelector:
    """Return the ε that words of a line mean; BadInput says what is wrong with them."""
    try:
        return SELECTOR.validate_python(words)
    except ValidationError as error:
        raise piece_error(line, words, error.errors()[0]["msg"]) from None


def node_error(line: str, node: ast.expr, allowed: str) -> BadInput:
    """Return the error about a node."""
    return piece_error(line, ast.get_source_segment(line, node) or "", allowed)


def piece_error(line: str, piece: str, allowed: str) -> BadInput:
    """Return the error about a piece of a line."""
    return BadInput(f"{plain(line)}: found {plain(piece)}, allowed: {allowed}")


def pieces(text: str) -> list[str | ast.expr]:
    """Return the words of a caption and the trees of its placeholders; BadInput names a wrong placeholder."""
    return [
        _number_of_runs(piece.strip()) if index % 2 else piece
        for index, piece in enumerate(PLACEHOLDER.split(text))
    ]


@cache
def _number_of_runs(line: str) -> ast.expr:
    """Return the tree of a placeholder: a number that is measured of runs, and of no column of a table."""
    tree = parse_line(line, "one number, as accuracy(NAME)")
    calls = [*parts(tree, line)]
    known = [call for call in calls if isinstance(call, Call) and [*call.names] == call.of(COLUMN, PRIVATE)]
    if not calls or calls != known:
        raise BadInput(f"{line}: found no number of a run, allowed: such as accuracy(RUN)")
    return tree


def runs_in(*pieces: str | ast.expr) -> list[str]:
    """Return the runs that the placeholders of a caption name."""
    calls = [part for tree in pieces if isinstance(tree, ast.expr) for part in parts(tree)]
    return [name for call in calls if isinstance(call, Call) for name in call.names]


def _checked(text: str) -> str:
    """Return a caption whose placeholders can be read."""
    try:
        pieces(text)
    except BadInput as error:
        raise PydanticCustomError("choice", "{error}", {"error": str(error)}) from None
    return text


Caption = Annotated[str, AfterValidator(_checked)]
