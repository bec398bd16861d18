"""Several runs on the same data: what they cost together.

A guarantee of each run is one of all of them together, at an ε that counts the releases of all, even where a
later run was chosen by what an earlier one released. So views of the same unit, the same neighbours and the
same observer are one view, of noise that is independent from release to release. Estimates are not composed:
nobody has sampled distances of both runs.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from fedpriv.account.check import Trace, full_column
from fedpriv.account.ledgers import count_views
from fedpriv.account.releases import distinct_releases
from fedpriv.account.views import NOT_SAMPLED, View, views
from fedpriv.errors import BadInput
from fedpriv.frozen import Deltas
from fedpriv.trace import SAMPLED

# What views must agree on to be one view, -> how a message says what it is of a view.
ALIKE: dict[str, Callable[[View], str]] = {
    "mechanism": lambda view: view.mechanism,
    "unit": lambda view: view.unit,
    "relation": lambda view: "/".join(dict.fromkeys(view.relations.values())),
    "sampling_law": lambda view: "poisson" if view.law == "full" else view.law,
    "accounting": lambda view: view.accounting or "the server's noise",
}


SAME = "allowed in runs together: the same in each"


def ledger_together(traces: Sequence[Trace], delta: Deltas) -> pd.DataFrame:
    """Return the ledger of runs on the same data, of a row for every ε: after all of them.

    Who calls says that the data are the same, and the clients. A view that not every run has is left out.
    Raises BadInput naming what differs where none is in all, and a mechanism or a law that does not compose.
    """
    runs = [{_key(view): view for view in views(trace, {})} for trace in traces]
    common = [key for key in runs[0] if all(key in run for run in runs)]
    if not common:
        raise BadInput(_difference(runs))
    whole = [_together([run[key] for run in runs]) for key in common]
    return count_views(whole, _end(traces), delta)


def _key(view: View) -> tuple[str, ...]:
    """Return what the view must share with another; BadInput for one that composes with none."""
    if view.mechanism != "gaussian" or view.law not in SAMPLED:
        name = "mechanism" if view.mechanism != "gaussian" else "sampling_law"
        allowed = "noise that is independent from release to release, of sampled clients"
        raise BadInput(f"{name}: found {ALIKE[name](view)}, allowed in runs together: {allowed}")
    return tuple(words(view) for words in ALIKE.values())


def _together(alike: Sequence[View]) -> View:
    """Return the view of all releases of several views, as of one round."""
    releases, counts = distinct_releases(
        [release for view in alike for release in view.releases],
        np.concatenate([view.counts.sum(axis=0) for view in alike]),
    )
    laws = {view.law for view in alike}
    return alike[0]._replace(
        law="poisson" if laws == {"poisson", "full"} else alike[0].law,
        certified=tuple(name for name in alike[0].certified if all(name in view.certified for view in alike)),
        violation=_first(view.violation for view in alike),
        releases=releases,
        counts=counts.sum(axis=0, keepdims=True),
        samples=NOT_SAMPLED,
        facts={},
        residual=sum(view.residual for view in alike),
        uncertified=_first(view.uncertified for view in alike),
    )


def _first(texts: Iterable[str]) -> str:
    """Return the first text that is not empty."""
    return next(filter(None, texts), "")


def _end(traces: Sequence[Trace]) -> Trace:
    """Return the trace of one round, in which fails what fails in any of all rounds."""
    fails = _first(str(text) for trace in traces for text in trace["violation"])
    private = any(trace["clip_private"].any() for trace in traces)
    columns = {"round": 1, "clip_private": private, "violation": fails}
    return Trace({name: full_column(value, 1) for name, value in columns.items()})


def _difference(runs: Sequence[dict[tuple[str, ...], View]]) -> str:
    """Return the line that names the first thing that no two views have in common."""
    for number, name in enumerate(ALIKE):
        words = [{key[number] for key in run} for run in runs]
        if not set.intersection(*words):
            each = " and ".join(", ".join(sorted(run)) for run in words)
            return f"{name}: found {each}, {SAME}"
    return f"accounting: found no observer that all have, {SAME}"
