"""The calculators: what a plan costs, the noise that meets an ε, what flipped bits cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

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

if TYPE_CHECKING:
    from fedpriv.account.statement import PrivacyStatement

Answer = TypeVar("Answer")
BEST, ALL = "best", "all"  # of the accountants of independent noise


def accountant_of_plans(accountant: str) -> str:
    """Return the name of an accountant of plans; BadInput says what counts by any other."""
    from fedpriv.account.accountants import ACCOUNTANTS
    from fedpriv.account.plans import planners

    if accountant in (BEST, ALL):
        return accountant
    if accountant in ACCOUNTANTS and not ACCOUNTANTS[accountant].plan:
        raise BadInput(f"The accountant {accountant} needs a run: fedpriv account RUN.")
    return match_name("accountant", accountant, (*planners(), BEST, ALL))


def accountants(incomplete: str) -> list[str]:
    """Return the accountants that may plan and begin so; none of a package is loaded."""
    from fedpriv.account.accountants import ACCOUNTANTS

    own = ACCOUNTANTS.own
    names = [name for name in ACCOUNTANTS if name not in own or own[name].plan]
    return [name for name in (BEST, ALL, *names) if name.startswith(incomplete)]


AccountantOption = Annotated[
    str,
    typer.Option(
        metavar="best|all|moments|rdp|pld|...",
        help="How ε is counted; best is the one that counts least, all shows each.",
        callback=accountant_of_plans,
        autocompletion=accountants,
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
    accountant: AccountantOption = BEST,
    sampling_law: SamplingLaw = "poisson",
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Say what ε a plan costs."""
    from fedpriv.account import plans

    keys = settings_of_plan(sampling_law, settings)
    plan = {"sampling_rate": q, "noise_multiplier": noise_multiplier, "rounds": rounds, "delta": delta}
    statements, cannot = answers(
        accountant, keys, lambda name: plans.epsilon(**plan, accountant=name, **keys)
    )
    ascending = sorted(statements, key=lambda name: statements[name].epsilon)
    least, most = (f"{statements[name].epsilon:.4g}" for name in (ascending[0], ascending[-1]))
    notes: list[str] = []
    if accountant == ALL and len(statements) > 1:
        notes = [f"Use ε = {least} ({ascending[0]}): each of them holds, and the least says most."]
        if "moments" in statements:
            notes[0] += f" The 2019 paper counts {statements['moments'].epsilon:.4g} (moments)."
    elif len(statements) > 1:
        counts = f"Of {len(statements)} accountants, {ascending[0]} counts the least ε"
        notes = [f"{counts}; {ascending[-1]} would count {most}."]
    shown = statements if accountant == ALL else {ascending[0]: statements[ascending[0]]}
    facts = {name: statement_as_dict(statement) for name, statement in shown.items()}
    show_plans(shown, facts, {}, cannot, [*notes, *assumptions(ascending[0], sampling_law)], as_json)


def calibrate(
    epsilon: Annotated[float, typer.Option(help="ε, above 0.")],
    delta: Delta,
    q: Rate,
    rounds: Rounds,
    accountant: AccountantOption = BEST,
    sampling_law: SamplingLaw = "poisson",
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Find the least noise that keeps a plan within ε."""
    from fedpriv.account import plans

    keys = settings_of_plan(sampling_law, settings)
    plan = {"sampling_rate": q, "rounds": rounds, "delta": delta, **keys}
    noise, cannot = answers(
        accountant, keys, lambda name: plans.calibrate(epsilon=epsilon, **plan, accountant=name)
    )
    ascending = sorted(noise, key=lambda name: noise[name])
    least, most = (rounded_up(noise[name]) for name in (ascending[0], ascending[-1]))
    notes: list[str] = []
    if accountant == ALL and len(noise) > 1:
        every = {2: "both keep", 3: "all three keep"}.get(len(noise), f"all {len(noise)} keep")
        why = f"{every} ε ≤ {epsilon:g}, and {ascending[0]} needs the least noise"
        notes = [f"Use {least} ({ascending[0]}): {why}."]
    elif len(noise) > 1:
        needs = f"Of {len(noise)} accountants, {ascending[0]} needs the least noise"
        notes = [f"{needs}; {ascending[-1]} would need {most}."]
    shown = {
        name: plans.epsilon(noise_multiplier=noise[name], **plan, accountant=name)
        for name in (noise if accountant == ALL else ascending[:1])
    }
    facts = {
        name: {"noise_multiplier": noise[name]} | statement_as_dict(statement)
        for name, statement in shown.items()
    }
    columns = {"noise multiplier": [rounded_up(noise[name]) for name in shown]}
    show_plans(shown, facts, columns, cannot, [*notes, *assumptions(ascending[0], sampling_law)], as_json)


def answers(
    accountant: str, settings: Mapping[str, Any], ask: Callable[[str], Answer]
) -> tuple[dict[str, Answer], dict[str, str] | None]:
    """Return what the accountants say that are asked for, and of all of them why others cannot, by name."""
    from fedpriv.account import plans

    if accountant not in (BEST, ALL):
        return {accountant: ask(accountant)}, None
    cannot: dict[str, BadInput] = {}
    each = plans.answers(ask, settings, cannot)
    reasons = {name: str(why) for name, why in cannot.items()}
    return each, reasons if accountant == ALL else None


def rounded_up(noise_multiplier: float) -> str:
    """Return a multiplier in six digits, no less than it is."""
    return f"{float(SIX_DIGITS.create_decimal(noise_multiplier)):.6g}"


def show_plans(
    statements: Mapping[str, PrivacyStatement],
    facts: Mapping[str, Any],
    columns: Mapping[str, Sequence[str]],
    cannot: Mapping[str, str] | None,
    notes: Sequence[str],
    as_json: bool,
) -> None:
    """Print the statements of a plan by accountant, and why others `cannot`; without these, of one alone."""
    why = [f"{name}: {reason.removeprefix(f'{name}: ')}" for name, reason in (cannot or {}).items()]
    if cannot is None:
        (facts,) = facts.values()
    else:
        facts = {**facts, **{name: {"found": reason} for name, reason in cannot.items()}}
    print_result(facts, statement_table([*statements.values()], columns, notes=[*why, *notes]), as_json)


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
    """Return what else a plan depends on: the sampling law unless it is the usual one, and what is set."""
    law = {"sampling_law": sampling_law} if sampling_law != "poisson" else {}
    return law | nested(settings or [])


def assumptions(accountant: str, sampling_law: str) -> list[str]:
    """List the assumptions of a plan of ours; a package states those of its own."""
    from fedpriv.account.accountants import ACCOUNTANTS

    if accountant in ACCOUNTANTS.own:
        return [ASSUMED[sampling_law]]
    return list(filter(None, [ACCOUNTANTS[accountant].assumes]))
