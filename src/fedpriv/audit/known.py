"""What an audit knows of a finished run, and the ε that are stated of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedpriv.account.complete import complete
from fedpriv.account.ledgers import LEDGER, spends
from fedpriv.account.spend import Spend
from fedpriv.account.view import View
from fedpriv.account.views import views
from fedpriv.errors import BadInput
from fedpriv.files.rundir import RunDir
from fedpriv.streams import Streams

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Known:
    """A run until some round: what happened, how far clients were, what it cost, how it was set."""

    trace: pd.DataFrame
    distances: dict[str, np.ndarray]
    spends: list[Spend]  # at the last of these rounds
    scheme: Mapping[str, Any]  # its config
    parameters: int
    identity: str

    @cached_property
    def views(self) -> list[View]:
        """Return every view of the trace, whose distances are checked."""
        return views(self.trace, self.distances)

    def view(self, unit: str, accounting: str = "") -> View | None:
        """Return the view of the trace that is so called; the one whose assumptions hold, of two.

        None where clients are not sampled by coins, or noise is not independent.
        """
        found = [
            one
            for one in self.views
            if (one.unit, one.accounting) == (unit, accounting)
            and one.law in ("poisson", "full")
            and one.mechanism == "gaussian"
        ]
        return found[-1] if found else None

    def stated(self, unit: str, **wanted: str) -> Iterator[Spend]:
        """Yield the finite ε of a unit that have these values, in the order of the ledger."""
        for one in self.spends:
            alike = all(getattr(one, name) == value for name, value in wanted.items())
            if one.unit == unit and alike and 0 < one.epsilon < np.inf:
                yield one

    def rng(self, name: str) -> np.random.Generator:
        """Return the generator of an audit of this run: the same whenever it is repeated."""
        return Streams(0, self.identity).numpy(f"audit {name}")


def known(directory: Path, until: int | None = None) -> Known:
    """Return what is known of an accounted run directory, with its distances if there are any, up to `until`.

    What was accounted has been checked. Raises BadInput naming what is missing or corrupt, or the round that
    there is not.
    """
    run = RunDir(directory)
    told, trace, ledger = run.summary, complete(run.trace()), run.ledger(LEDGER)
    distances = run.distances() if run.sources[-1].exists() else {}
    last = len(trace) if until is None else until
    if not 1 <= last <= len(trace):
        raise BadInput(f"--round: found {last}, allowed: 1 to {len(trace)}, the rounds of {directory}")
    return Known(
        trace.iloc[:last],
        # What has no row a round was seen when all was over, and not before.
        {name: array[:last] for name, array in distances.items() if len(trace) in (last, len(array))},
        spends(ledger.loc[ledger["round"] == last]),
        told.get("config", {}).get("scheme", {}),
        int(told.get("parameters", 0)),
        str(told.get("identity", "")),
    )
