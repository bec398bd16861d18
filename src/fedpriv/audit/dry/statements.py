"""The ε that a mechanism states: the ledger's, of what its own facts say."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedpriv.account import ledger
from fedpriv.account.complete import complete
from fedpriv.account.response_views import ONE_BIT
from fedpriv.account.views import views
from fedpriv.audit.dry.rounds import Site, nothing
from fedpriv.errors import BadInput
from fedpriv.streams import Streams

# How an ε is counted -> who sees what.
SEEN = {
    "": "sum",
    "sum": "sum",
    "sized": "sum",
    "sequential": "sum",
    "parallel": "sum",
    "upload": "upload",
    "drawn": "upload",
}
TITLES = {"sum": "the sums", "turns": "the sums", "upload": "the uploads", "bit": "the uploads"}


class Statement(NamedTuple):
    """One ε of the ledger, and how its neighbours differ."""

    epsilon: float
    accountant: str
    accounting: str
    unit: str
    relation: str
    sensitivity: str
    sampling_law: str
    mechanism: str  # what is released
    multipliers: np.ndarray  # [T], the noise over the bound that it is counted from; empty of bits

    @property
    def attack(self) -> str:
        """Return who sees what: the sum, single uploads, single bits.

        `turns` is whoever sees the sum where clients come in turn, or where noise is not independent.
        """
        if self.unit == ONE_BIT:
            return "bit"
        sampled = self.mechanism == "gaussian" and self.sampling_law != "spaced"
        return SEEN[self.accounting] if sampled or SEEN[self.accounting] != "sum" else "turns"

    @property
    def always(self) -> bool:
        """Return whether it is of a client who comes in every round."""
        return self.accounting == "upload"

    @property
    def reach(self) -> float:
        """Return by how many bounds neighbours may be apart."""
        return 2.0 if self.sensitivity == "2C" else 1.0

    @property
    def about(self) -> str:
        """Return whose ε it is."""
        return {"instance": "an example", ONE_BIT: "one bit of a client"}.get(self.unit, "a client")


def statement(site: Site, delta: float) -> Statement:
    """Return the tightest guarantee that a dry run of what is believed states, all of whose assumptions hold.

    Where there is none BadInput says so.
    """
    mechanism = site.mechanism._replace(scheme=site.mechanism.believed)
    site, rows = site._replace(mechanism=mechanism), []
    memory = mechanism.believed.memory(site.dimension)
    streams = Streams(0, "dry run that is accounted")
    for round in range(1, mechanism.plan.rounds + 1):
        ids = site.draw(round, streams)
        played = site.play(nothing(len(ids), site.dimension), ids, round, memory, streams)
        memory = played.memory
        rows.append(site.row(played.facts, round, len(ids)))
    trace = pd.DataFrame(rows)
    last = ledger(trace, delta)
    unit = {"instance": ["instance"], "client": ["client"]}.get(mechanism.believed.unit, ["client", "none"])
    bits = (trace["noisy_bits"] > 0).all()
    met = last[
        (last["round"] == len(rows))
        & (last["kind"] == "guarantee")
        & last["assumptions_met"]
        & np.isfinite(last["epsilon"])
        & (last["unit"].isin([ONE_BIT] if bits else unit))
        & (last["accounting"].isin(["upload"] if bits else [*SEEN]))
    ]
    if met.empty:
        raise BadInput(
            f"--mechanism: found {mechanism.believed.name} with these settings, whose facts state no ε, "
            "allowed: what has a guarantee"
        )
    best = met.sort_values("epsilon", kind="stable").iloc[0]
    said: dict[str, Any] = {name: best[name] for name in Statement._fields if name in best}
    released = [one.mechanism for one in views(complete(trace), {})]  # of bits there is no view
    said |= {
        "epsilon": float(best["epsilon"]),
        "mechanism": released[0] if released else "randomized_response",
    }
    return Statement(**said, multipliers=np.empty(0) if bits else multipliers(trace, said))


def multipliers(trace: pd.DataFrame, said: dict[str, Any]) -> np.ndarray:
    """Return the noise over the bound that each round is counted with `[T]`, of sum and memory together."""
    for view in views(complete(trace), {}):
        if (view.accounting, view.unit) == (said["accounting"], said["unit"]):
            noise = np.array([one.noise_multiplier for one in view.mechanisms])
            return np.where(view.counts > 0, noise, math.inf).min(axis=1)
    raise AssertionError(said)
