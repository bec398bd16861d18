"""The caption of a table or figure, with what was measured in its places."""

from fedpriv.paper.arithmetic import Call, Term, terms
from fedpriv.paper.caption import pieces
from fedpriv.paper.cells import Cell, Rendered
from fedpriv.report.claims.values import Known, value
from fedpriv.report.claims.yardstick import NOT_RUN
from fedpriv.report.results import Results


def caption(results: Results, declared: Rendered) -> str:
    """Return what people wrote; a number of runs that are not in `results` is "not run"."""
    return "".join(
        piece if number % 2 == 0 and isinstance(piece, str) else measured(results, piece)
        for number, piece in enumerate(pieces(declared.caption))
    )


def measured(results: Results, term: Term) -> str:
    """Return the number that a place holds, as claims print it: over seeds, with its unit."""
    names = [name for call in terms(term, Call) for name in call.names]
    if not all(map(results.has, names)):
        return NOT_RUN
    return value(term, Known(results, {name: Cell(name) for name in names}, {})).text
