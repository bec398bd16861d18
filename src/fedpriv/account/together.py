"""Several runs on the same data: what they cost together.

A guarantee of each run is one of all of them together, at an ε that counts the releases of all, even where a
later run was chosen by what an earlier one released. So views of the same unit, the same neighbours and the
same observer are one view, of noise that is independent from release to release. Estimates are not composed:
nobody has sampled distances of both runs.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.account.check import Trace
from fedpriv.account.ledgers import count_views
from fedpriv.account.releases import distinct_releases
from fedpriv.account.views import View, views
from fedpriv.errors import BadInput
from fedpriv.frozen import Deltas
from fedpriv.trace import SAMPLED

# What views must agree on to be one view, -> how a message says what it is of a view.
ALIKE: dict[str, Callable[[View], Any]] = {
    "mechanism": lambda view: view.mechanism,
    "unit": lambda view: view.unit,
    "relation": lambda view: "/".join(dict.fromkeys(view.relations.values())),
    "sampling_law": lambda view: "poisson" if view.law == "full" else view.law,
    "accounting": lambda view: view.accounting or "the server's noise",
}


SAME = "allowed in runs together: the same in each"


def ledger_together(traces: Sequence[Trace], delta: Deltas) -> pd.DataFrame:
    """Return the ledger of runs on the same data, of one row for each way of counting: after all of them.

    Who calls says that the data are the same, and the clients. A view that not every run has is left out.
    Raises BadInput naming what differs where none is in all, and a mechanism or a law that does not compose.
    """
    by_run = [views(trace, {}) for trace in traces]
    for view in (view for run in by_run for view in run):
        if view.mechanism != "gaussian" or view.law not in SAMPLED:
            name = "mechanism" if view.mechanism != "gaussian" else "sampling_law"
            words = "noise that is independent from release to release, of sampled clients"
            raise BadInput(f"{name}: found {ALIKE[name](view)}, allowed in runs together: {words}")
    found = [{tuple(of(view) for of in ALIKE.values()): view for view in run} for run in by_run]
    common = [key for key in found[0] if all(key in run for run in found)]
    if not common:
        raise BadInput(_difference(found))
    whole = [_together([run[key] for run in found]) for key in common]
    return count_views(whole, _end(traces), delta)


def _together(alike: Sequence[View]) -> View:
    """Return the view of all releases of several views, as of one round."""
    each = [(release, count) for view in alike for release, count in _released(view)]
    releases, counts = distinct_releases([release for release, _ in each], np.array([n for _, n in each]))
    first = alike[0]
    certified = tuple(name for name in first.certified if all(name in view.certified for view in alike))
    return View(
        unit=first.unit,
        accounting=first.accounting,
        law=next((view.law for view in alike if view.law != "full"), "full"),
        relations=first.relations,
        certified=certified,
        violation=next((view.violation for view in alike if view.violation), ""),
        releases=releases,
        counts=counts.sum(axis=0, keepdims=True),
        residual=sum(view.residual for view in alike),
        uncertified=next((view.uncertified for view in alike if view.uncertified), ""),
    )


def _released(view: View) -> list[tuple[Any, int]]:
    return [*zip(view.releases, view.counts.sum(axis=0).tolist(), strict=True)]


def _end(traces: Sequence[Trace]) -> Trace:
    """Return the trace of one round, in which fails what fails in any of all rounds."""
    fails = [str(text) for trace in traces for text in trace["violation"] if text]
    private = any(trace["clip_private"].any() for trace in traces)
    violation = np.array(fails[:1] or [""], dtype=object)
    return Trace({"round": np.array([1]), "clip_private": np.array([private]), "violation": violation})


def _difference(found: Sequence[dict[tuple[Any, ...], View]]) -> str:
    """Return the line that names the first thing that no two views have in common."""
    for place, name in enumerate(ALIKE):
        words = [{str(key[place]) for key in run} for run in found]
        if not set.intersection(*words):
            each = " and ".join(", ".join(sorted(run)) for run in words)
            return f"{name}: found {each}, {SAME}"
    return f"accounting: found no observer that all have, {SAME}"
