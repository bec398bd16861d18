"""The calculators: what a plan costs, the noise that meets an ε, what flipped bits cost."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Context
from typing import Annotated, Literal

import typer

from fedpriv.cli.options import Delta, Rate, Rounds
from fedpriv.cli.output import AsJson, print_result, spend_as_dict
from fedpriv.cli.spends import spend_table
from fedpriv.errors import BadInput

Accountant = Annotated[
    Literal["moments", "rdp", "pld", "all"], typer.Option(help="How ε is counted; all shows each of them.")
]

ASSUMED = (
    "Assumed: each client joins a round by itself with probability q (Poisson sampling; everyone at q = 1), "
    "one client is added or removed, and the noise is on the sum of clipped updates."
)
PAPERS = {"moments": "DP of bdp2019"}  # accountant -> the column of a paper that it counts
# Noise that is shown in fewer digits must still be enough.
SIX_DIGITS = Context(prec=6, rounding=ROUND_CEILING)


def epsilon(
    q: Rate,
    noise_multiplier: Annotated[float, typer.Option(help="Noise std over the clip bound.")],
    rounds: Rounds,
    delta: Delta,
    accountant: Accountant = "moments",
    as_json: AsJson = False,
) -> None:
    """Say what ε a plan costs."""
    from fedpriv.account import plans

    spends = {
        name: plans.epsilon(
            sampling_rate=q, noise_multiplier=noise_multiplier, rounds=rounds, delta=delta, accountant=name
        )
        for name in planners(accountant)
    }
    facts = {name: spend_as_dict(spend) for name, spend in spends.items()}
    shown = spend_table(
        list(spends.values()), marks=[PAPERS.get(name, "") for name in spends], notes=[ASSUMED]
    )
    print_result(facts if accountant == "all" else facts[accountant], shown, as_json)


def calibrate(
    epsilon: Annotated[float, typer.Option(help="ε, above 0.")],
    delta: Delta,
    q: Rate,
    rounds: Rounds,
    accountant: Accountant = "moments",
    as_json: AsJson = False,
) -> None:
    """Find the least noise that keeps a plan within ε."""
    from fedpriv.account import plans

    facts, spends, multipliers, cannot = {}, [], [], {}
    for name in planners(accountant):
        plan = {"sampling_rate": q, "rounds": rounds, "delta": delta, "accountant": name}
        try:
            multiplier = plans.calibrate(epsilon=epsilon, **plan)
        except BadInput as error:
            cannot[name] = str(error)
            continue
        spend = plans.epsilon(noise_multiplier=multiplier, **plan)
        facts[name] = {"noise_multiplier": multiplier} | spend_as_dict(spend)
        spends.append(spend)
        multipliers.append(f"{float(SIX_DIGITS.create_decimal(multiplier)):.6g}")
    if not facts:
        raise BadInput([*cannot.values()][-1])  # the tightest has the lowest floor
    notes = [f"{name}: {why}" for name, why in cannot.items()]
    shown = spend_table(
        spends, {"noise multiplier": multipliers}, [PAPERS.get(name, "") for name in facts], [*notes, ASSUMED]
    )
    found = facts | {name: {"found": why} for name, why in cannot.items()}
    print_result(found if accountant == "all" else facts[accountant], shown, as_json)


def rr_epsilon(
    gamma: Annotated[float, typer.Option(help="A bit is kept with probability 1/2 + γ.")],
    rounds: Rounds,
    delta: Delta,
    dimension: Annotated[
        int, typer.Option(help="Bits that a client sends a round; by default those of the paper's network.")
    ] = 81_958,
    clients: Annotated[int, typer.Option(help="Under the sum that the central readings see.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Say what ε randomised response costs, under each reading of what a client sends."""
    from fedpriv.account.randomized_response import PRINTED, READINGS, epsilons

    spends = epsilons(gamma, rounds, delta, dimension, clients)
    facts = {name: spend_as_dict(spend) for name, spend in spends.items()}
    readings = {"reading": [READINGS[name] for name in spends]}
    marks = ["DPFL-BNN" if name == PRINTED else "" for name in spends]
    print_result(facts, spend_table(list(spends.values()), readings, marks), as_json)


def planners(accountant: str) -> Sequence[str]:
    """Return the accountants asked for."""
    from fedpriv.account.plans import PLANNERS

    return tuple(PLANNERS) if accountant == "all" else (accountant,)
