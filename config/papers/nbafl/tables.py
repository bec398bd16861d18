"""The label of NbAFL, (ε, δ) as the constant c has it, beside the ε that would hold and the ε that holds."""

from functools import partial

import numpy as np
import pandas as pd

from fedpriv.account import plans
from fedpriv.account.statement import mark_epsilon, status
from fedpriv.frozen import parse
from fedpriv.paper.epsilons import EpsilonSelector
from fedpriv.paper.tables import RunsTable
from fedpriv.report import numbers
from fedpriv.report.metrics import epsilon_text
from fedpriv.report.sample import Sample
from fedpriv.report.tables.runs import TableColumn, runs_table, table_columns
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.nbafl import NbAFL
from fedpriv.streams import Streams

INFINITE = "nothing bounds an upload beneath its noise; only the server's own weights are clipped."
NOMINAL = {"kind": "nominal", "epsilon_status": "nominal"}
HELD = {"kind": "guarantee", "epsilon_status": status("guarantee", "nothing keeps an upload within 2C/n")}
UPLOAD = EpsilonSelector(accountant="rdp", sensitivity="2C", accounting="upload")
HOLDS = {"name": "epsilon", "label": "that holds", "accountant": "upload rdp 2C"}


def labels(results, declared, name):
    """Return a line a run: its label, its noise, ε if 2C/n held, the ε of the ledger, and its accuracy."""
    table = RunsTable.model_validate(
        {
            "title": declared.title,
            "place": declared.place,
            "lines": [{"run": run, "label": label} for run, label in declared.lines.items()],
            "columns": ["upload_noise_std", "broadcast_noise_std", HOLDS, "accuracy_last"],
            "infinite": INFINITE,
        }
    )
    upload, broadcast, *others = table_columns(results, table)
    ratio = of_scheme(lambda scheme: scheme.epsilon / scheme.constant)
    label = of_scheme(lambda scheme: scheme.epsilon, NOMINAL)
    columns = [
        TableColumn("", "ε/c", "ratio", ratio, numbers.three_digits),
        TableColumn("Nominal", "ε", "epsilon_label", label, nominal),
        TableColumn("Nominal", "δ", "delta_label", of_scheme(delta), numbers.three_digits),
        *(upload, broadcast),
        TableColumn("ε", "if 2C/n held", "epsilon_if", if_held, epsilon_text),
    ]
    return runs_table(results, table, name, [*columns, *others])


def nominal(sample):
    """Return the ε of a label, with its mark."""
    return mark_epsilon(numbers.three_digits(sample), NOMINAL["epsilon_status"])


def scheme_of(run):
    """Return the scheme of a run; any other than NbAFL is BadInput."""
    return parse(NbAFL.model_validate, run.config["scheme"], f"labels: {run.name}: scheme")


def of_scheme(value, meaning=None):
    """Return how a number that the config alone decides is read, for every seed."""

    def read(run):
        return Sample(pd.Series(value(scheme_of(run)), run.runs["seed"]), meaning=meaning or {})

    return read


def delta(scheme):
    """Return the δ whose constant c would be: c = √(2 ln(1.25/δ))."""
    return 1.25 * float(np.exp(-(scheme.constant**2) / 2))


def if_held(run):
    """Return by seed the ε of all rounds if a client with n examples moved its upload by 2C/n at most."""
    scheme, first = scheme_of(run), run.rounds.iloc[0]
    # The noise is in proportion to 1/n, so that one example will do.
    alone = RoundContext(
        number=1,
        rounds=int(run.fact("rounds_wanted")),
        population=int(first["population"]),
        expected=float(first["expected_cohort"]),
        examples=np.ones(1),
        fewest=1,
        tensors=(),
        streams=Streams(0, run.name),
    )
    multiplier = float(scheme.uplink_std(alone)[0]) / (2 * scheme.weight_clip)
    last = run.rounds.groupby("seed")["round"].max()
    deltas = run.ledger(UPLOAD)["delta"]
    if deltas.empty:
        return Sample(pd.Series(np.nan, last.index), meaning=HELD)
    plan = {"sampling_rate": 1, "noise_multiplier": multiplier, "delta": float(deltas.iloc[0])}
    of = partial(plans.epsilon, **plan, accountant="pld")
    return Sample(last.map({count: of(rounds=count).epsilon for count in set(last)}), meaning=HELD)
