"""The calculators: what a plan costs, the noise that meets an ε, what flipped bits cost."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Context
from typing import Annotated, Any

import typer

from fedpriv.cli.options import (
    NOISE,
    AsJson,
    Delta,
    Rate,
    Rounds,
    nested,
    print_result,
    statement_as_dict,
)
from fedpriv.cli.table import statement_table
from fedpriv.errors import BadInput, match_name

ALL = "all"  # of the accountants of independent noise


def accountant_of_plans(accountant: str) -> str:
    """Return the name of an accountant of plans; BadInput says what counts by any other."""
    from fedpriv.account.ledgers import ACCOUNTANTS
    from fedpriv.account.plans import planners

    plans = (*planners(), ALL)
    if accountant in ACCOUNTANTS and accountant not in plans:
        raise BadInput(f"The accountant {accountant} needs a run: fedpriv account RUN.")
    return match_name("accountant", accountant, plans)


Accountant = Annotated[
    str,
    typer.Option(
        metavar="moments|rdp|pld|all|...",
        help="How ε is counted; all shows the first three, others are of packages.",
        callback=accountant_of_plans,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="What else plans of an accountant may be told, as of a package; repeatable.",
    ),
]

SamplingLaw = Annotated[
    str,
    typer.Option(
        metavar="poisson|fixed",
        help="How clients get into a round: each by itself, or a share q of them, always so many.",
        callback=lambda law: match_name("sampling law", law, ASSUMED),
    ),
]

ASSUMED = {
    "poisson": "Assumed: each client joins a round by itself with probability q (Poisson sampling; everyone "
    "at q = 1), one client is added or removed, and the noise is on the sum of clipped updates.",
    "fixed": "Assumed: a share q of the clients, always so many, is drawn for each round without replacement "
    "(everyone at q = 1), one client is replaced, and the noise is on the sum of clipped updates.",
}
# Noise that is shown in fewer digits must still be enough.
SIX_DIGITS = Context(prec=6, rounding=ROUND_CEILING)


def epsilon(
    q: Rate,
    noise_multiplier: Annotated[float, typer.Option(*NOISE, help="Noise std over the clipping norm.")],
    rounds: Rounds,
    delta: Delta,
    accountant: Accountant = "moments",
    sampling_law: SamplingLaw = "poisson",
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Say what ε a plan costs."""
    from fedpriv.account import plans

    plan = {"sampling_rate": q, "noise_multiplier": noise_multiplier, "rounds": rounds, "delta": delta}
    plan |= settings_of_plan(sampling_law, settings)
    statements, cannot = {}, {}
    for name in planners(accountant, sampling_law):
        try:
            statements[name] = plans.epsilon(accountant=name, **plan)
        except BadInput as error:
            cannot[name] = str(error)
    if not statements:
        raise BadInput(next(iter(cannot.values())))
    facts = {name: statement_as_dict(statement) for name, statement in statements.items()}
    notes = [*cannot.values(), *assumptions(accountant, sampling_law)]
    if len(statements) > 1:
        least = min(statements, key=lambda name: statements[name].epsilon)
        use = (
            f"Use ε = {statements[least].epsilon:.4g} ({least}): each of them holds, and the least says most."
        )
        if "moments" in statements:
            use += f" The 2019 paper counts {statements['moments'].epsilon:.4g} (moments)."
        notes = [use, *notes]
    parts = statement_table(list(statements.values()), notes=notes)
    outcomes = facts | {name: {"found": why} for name, why in cannot.items()}
    print_result(outcomes if accountant == ALL else facts[accountant], parts, as_json)


def calibrate(
    epsilon: Annotated[float, typer.Option(help="ε, above 0.")],
    delta: Delta,
    q: Rate,
    rounds: Rounds,
    accountant: Accountant = "moments",
    sampling_law: SamplingLaw = "poisson",
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Find the least noise that keeps a plan within ε."""
    from fedpriv.account import plans

    facts, statements, multipliers, cannot = {}, [], [], {}
    for name in planners(accountant, sampling_law):
        plan = {"sampling_rate": q, "rounds": rounds, "delta": delta, "accountant": name}
        plan |= settings_of_plan(sampling_law, settings)
        try:
            multiplier = plans.calibrate(epsilon=epsilon, **plan)
        except BadInput as error:
            cannot[name] = str(error)
            continue
        statement = plans.epsilon(noise_multiplier=multiplier, **plan)
        facts[name] = {"noise_multiplier": multiplier} | statement_as_dict(statement)
        statements.append(statement)
        multipliers.append(f"{float(SIX_DIGITS.create_decimal(multiplier)):.6g}")
    if not facts:
        raise BadInput([*cannot.values()][-1])  # the tightest has the lowest floor
    notes = [f"{name}: {why}" for name, why in cannot.items()]
    if len(facts) > 1:
        least = min(facts, key=lambda name: facts[name]["noise_multiplier"])
        notes += [
            f"Use the noise multiplier of {least}: with each of them the plan keeps ε; it is the least."
        ]
    parts = statement_table(
        statements,
        {"noise multiplier": multipliers},
        notes=[*notes, *assumptions(accountant, sampling_law)],
    )
    outcomes = facts | {name: {"found": why} for name, why in cannot.items()}
    print_result(outcomes if accountant == ALL else facts[accountant], parts, as_json)


def rr_epsilon(
    gamma: Annotated[float, typer.Option(help="A bit is kept with probability 1/2 + γ.")],
    rounds: Rounds,
    delta: Delta,
    dimension: Annotated[
        int, typer.Option(help="Bits that a client sends a round; by default those of the paper's network.")
    ] = 81_958,
    clients: Annotated[int, typer.Option(help="In the sum that the central views see.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Say what ε randomised response costs.

    For each view of what a client sends.
    """
    from fedpriv.account.randomized_response import PRINTED, READINGS, epsilons

    statements = epsilons(gamma, rounds, delta, dimension, clients)
    facts = {name: statement_as_dict(statement) for name, statement in statements.items()}
    readings = [READINGS[name] + " (DPFL-BNN)" * (name == PRINTED) for name in statements]
    print_result(facts, statement_table(list(statements.values()), {"reading": readings}), as_json)


def settings_of_plan(sampling_law: str, settings: list[str] | None) -> dict[str, Any]:
    """Return what else a plan is told: by options, of which the usual one need not be, and by keys."""
    law = {"sampling_law": sampling_law} if sampling_law != "poisson" else {}
    return law | nested(settings or [])


def planners(accountant: str, sampling_law: str) -> Sequence[str]:
    """Return the accountants asked for: of all those that count this law."""
    from fedpriv.account.plans import planners

    setting = "" if sampling_law == "poisson" else "sampling_law"
    return planners("gaussian", setting) if accountant == ALL else (accountant,)


def assumptions(accountant: str, sampling_law: str) -> list[str]:
    """List the assumptions of a plan of ours; a package states those of its own."""
    from fedpriv.account import plans

    if accountant == ALL or accountant in plans.ACCOUNTANTS.own:
        return [ASSUMED[sampling_law]]
    return list(filter(None, [plans.ACCOUNTANTS[accountant].assumes]))
