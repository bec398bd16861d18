"""What every case of a claim decides, and the verdict that follows: an outcome, and whether it is sound."""

from collections.abc import Mapping, Sequence
from typing import Any

from fedpriv.paper.claims import Claim
from fedpriv.report.claims.outcomes import Outcome
from fedpriv.report.claims.yardstick import (
    FAILS,
    HOLDS,
    NOT_JUDGED,
    NOT_RUN,
    ONE_SEED,
    UNDECIDED,
    standing,
)
from fedpriv.report.claims.yardstick import outcome as without_reason

PARTLY, REPRODUCED, NOT_REPRODUCED = "partly", "reproduced", "not reproduced"
UNSOUND = "interpretation unsound"
OUTCOMES = {
    REPRODUCED: "every cell that decides holds, and at least one does (a claim about some cell: one holds)",
    PARTLY: "some cells hold and some fail",
    NOT_REPRODUCED: "every cell that decides fails, and at least one does (what is one statement: one fails)",
    UNDECIDED: "cells were run, and none decides",
    NOT_JUDGED: "substitute data, or a run that the preset has cut, decide nothing about the paper",
    NOT_RUN: "no cell was run",
}
SOUNDNESS = {UNSOUND: "what was observed is true, what is made of it does not follow; the reason is given"}
COUNTS = {HOLDS: "hold", FAILS: "fail", UNDECIDED: "undecided", NOT_JUDGED: "not_judged", NOT_RUN: "not_run"}


def judge(claim: Claim, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the line of one claim: what its cells decide, how many do, and the verdict that follows."""
    found = [stands(outcome) for outcome in outcomes]
    of_each = [without_reason(one) for one in found]
    counts = {name: of_each.count(standing) for standing, name in COUNTS.items()}
    outcome = verdict(counts, claim)
    why = next((one for one in found if outcome == NOT_JUDGED == without_reason(one)), outcome)
    unsound = bool(claim.unsound) and outcome in (REPRODUCED, PARTLY)
    seeds = {len(one.margins) for one in outcomes if one.margins is not None}
    alone = outcome == UNDECIDED and seeds == {1}
    return {
        "id": claim.id,
        "place": claim.place,
        "claim": claim.text,
        "verdict": why + (f", {UNSOUND}" if unsound else "") + (f" ({ONE_SEED})" if alone else ""),
        "outcome": outcome,
        "soundness": UNSOUND if unsound else "",
        "measured": "; ".join(map(told, outcomes)),
        "test": claim.check,
        "reason": claim.unsound,
        "cells": len(outcomes),
        "decided": counts["hold"] + counts["fail"],
    } | counts


def stands(outcome: Outcome) -> str:
    """Return what one case decides, or what stands instead."""
    if outcome.instead or outcome.margins is None:
        return outcome.instead or NOT_RUN
    return standing(outcome.margins)


def told(outcome: Outcome) -> str:
    """Return what was measured in one case, and what that decides."""
    if outcome.margins is None:
        return f"{outcome.cell}: {outcome.measured}"
    why = f": {ONE_SEED}" if len(outcome.margins) == 1 else ""
    return f"{outcome.cell}: {outcome.measured} ({stands(outcome)}{why})"


def verdict(counts: Mapping[str, int], claim: Claim) -> str:
    """Return what the cells say, as `OUTCOMES` defines it."""
    hold, fail, undecided = (counts[name] for name in ("hold", "fail", "undecided"))
    if claim.needs == "some" and (hold or undecided):
        return REPRODUCED if hold else UNDECIDED
    # What is the largest is larger than every other.
    if claim.elsewhere and (fail or 0 < hold < sum(counts.values())):
        return NOT_REPRODUCED if fail else UNDECIDED
    if hold or fail:
        return PARTLY if hold and fail else REPRODUCED if hold else NOT_REPRODUCED
    return UNDECIDED if undecided else NOT_JUDGED if counts["not_judged"] else NOT_RUN
