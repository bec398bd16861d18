"""What each γ of randomised response costs under every reading, and what accuracy it leaves."""

from functools import partial

import numpy as np
import pandas as pd

from fedpriv.paper.spends import Choice
from fedpriv.report import cells
from fedpriv.report.declared_runs import GammasTable
from fedpriv.report.render import Table
from fedpriv.report.run_table import ACCURACIES, HOW_READ, Column, counted, epsilon, fact, run_table
from fedpriv.report.uploads import SENT, SMALLER

BIT, BITS, CLIENT = "ε of one bit", "ε of all bits", "ε of a client"
EPSILONS = (
    epsilon(Choice(accountant="exact", sensitivity="bit"), BIT, "exact"),
    epsilon(Choice(accountant="rdp", sensitivity="bit"), BIT, "best order"),
    epsilon(Choice(accountant="theorem", sensitivity="bit"), BIT, "Theorem 1"),
    epsilon(Choice(accountant="rdp", sensitivity="bits"), BITS, "uploads seen"),
    epsilon(Choice(accountant="rdp", sensitivity="bits", accounting="sum"), BITS, "sum seen"),
    epsilon(Choice(accountant="rdp", sensitivity="all"), CLIENT, "uploads seen"),
    epsilon(Choice(accountant="rdp", sensitivity="all", accounting="sum"), CLIENT, "sum seen"),
)
COLUMNS = (
    Column("", "γ", "gamma", partial(fact, name="gamma"), lambda values: f"{np.mean([*values]):g}"),
    Column("", "Bits flipped (%)", "share_flipped", partial(fact, name="share_flipped"), cells.percent),
    *EPSILONS,
    *ACCURACIES,
    SENT,
    SMALLER,
)
READINGS = (
    "ε after the last round. The paper composes one bit of a client; Theorem 1 is read with ln(1/δ)/T, which "
    "its proof needs, for (1/δ)/T. A client sends all its bits in every round, and any of them may differ "
    "between neighbours; where only the sum is seen, all other clients' bits are taken as known. What a "
    "client sends in the clear beside its bits reveals it (docs/accounting.md)."
)
REVEALED = (
    "∞: nothing was flipped, or whole tensors were, which hides no more than their sign, or, of a client, "
    "something was sent in the clear."
)


def gammas_table(frame: pd.DataFrame, declared: GammasTable, name: str) -> Table:
    """Return a line a run: γ, the share of bits flipped, every ε, both accuracies, bytes sent."""
    table = run_table(frame, declared, name, declared.lines, COLUMNS, ())
    infinite = [REVEALED] if (table.display == "∞").to_numpy().any() else []
    notes = [READINGS, *infinite, *counted(frame, declared.lines, EPSILONS), HOW_READ]
    return table._replace(notes=[*notes, *table.notes])
