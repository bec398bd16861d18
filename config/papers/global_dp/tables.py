"""What accountants are told of the code of SecretFlow and of Geyer et al., beside what is done."""

from typing import NamedTuple

import pandas as pd

from fedpriv.account import plans
from fedpriv.account.statement import mark_epsilon, status
from fedpriv.paper.tables import full_title
from fedpriv.report import numbers
from fedpriv.report.lines import Line, tidy
from fedpriv.report.render import PrintedTable

EPSILON, ROUNDS, MOST = (
    8,
    10,
    100_000,
)  # a budget; rounds after which ε is compared; rounds that are looked for
COLUMNS = ["table", "row", "column", "quantity", "value", "accountant", "delta", "kind", "epsilon_status"]
HOW = (
    f"ε after {ROUNDS} rounds, and the rounds whose ε is at most {EPSILON}, by accountant moments under "
    "Poisson sampling, add/remove neighbours, at the δ of the line; σ is the std of the noise on a sum over "
    "what one client can add to it. Counted: as its own accountant has it. "
    "Done: what is released. 0: one round costs more."
)


class Account(NamedTuple):
    """Releases of a sum to which one client adds at most 1, with Gaussian noise."""

    sampling_rate: float
    noise_multiplier: float
    releases: int = 1  # in a round


THREE = (
    "three releases of one cohort are one release of three parts, σ/√3, and not three cohorts; here and "
    "below."
)
TOLD = Account(0.3, 1)
LINES = {  # label: δ, counted, done, why they are not the same
    "as the document describes it": (1e-5, TOLD, TOLD, ""),
    "SecretFlow, clip squared, C = 0.1": (
        *(1e-5, TOLD, Account(0.3, 0.1)),
        "the noise is in proportion to C², what a client adds to C.",
    ),
    "SecretFlow, noise at 30 clients, C = 1": (
        *(1e-5, TOLD, Account(0.3, 0.182574)),
        "noise for the mean is added by every client, and averaged, σ/√30.",
    ),
    "SecretFlow, nobody sampled": (
        *(1e-5, TOLD, Account(1, 1)),
        "`num_updates` goes into the account alone; everybody takes part.",
    ),
    "SecretFlow, all of it, C = 1": (1e-5, TOLD, Account(1, 0.333333), "100 clients, σ√100/30."),
    "SecretFlow, all of it, C = 0.1": (1e-5, TOLD, Account(1, 0.0333333), "the same times C."),
    "Geyer et al., K = 100, three layers": (1e-3, Account(0.3, 1, 3), Account(0.3, 0.57735), THREE),
    "Geyer et al., K = 1,000, three layers": (1e-5, Account(0.1, 1, 3), Account(0.1, 0.57735), ""),
    "Geyer et al., K = 10,000, three layers": (1e-6, Account(0.03, 1, 3), Account(0.03, 0.57735), ""),
}


def accounts(results, declared, name):
    """Return a line for every way of doing it; `results` is not looked at."""
    lines, display = [], []
    for label, (delta, counted, done, _) in LINES.items():
        line = {"What": label, "δ": numbers.delta(delta)}
        for column, account in (("counted", counted), ("done", done)):
            state = status("guarantee", "" if account == done else "something else is done")
            of_epsilon = {"kind": "guarantee", "epsilon_status": state}
            spent, afforded = epsilon(account, delta, ROUNDS), rounds(account, delta)
            for quantity, heading, value, text in (
                ("sampling_rate", "q", account.sampling_rate, f"{account.sampling_rate:.3g}"),
                ("noise_multiplier", "σ", account.noise_multiplier, f"{account.noise_multiplier:.3g}"),
                ("releases", "releases a round", account.releases, f"{account.releases}"),
                ("epsilon", "ε", spent, mark_epsilon(numbers.size([spent]), state)),
                ("rounds", "rounds", afforded, f"{afforded:,}"),
            ):
                about = {"accountant": "moments", "delta": delta} | (of_epsilon if heading == "ε" else {})
                lines.append(Line(label, column, quantity, value, about))
                line[f"{column.capitalize()} {heading}"] = text
        display.append(line)
    why = [f"{label}: {why}" for label, (*_, why) in LINES.items() if why]
    return PrintedTable(
        name, full_title(declared), tidy(name, COLUMNS, lines), pd.DataFrame(display), [HOW], why
    )


def epsilon(account, delta, rounds):
    """Return the ε of so many rounds."""
    rate, multiplier, releases = account
    plan = {"sampling_rate": rate, "noise_multiplier": multiplier, "delta": delta}
    return plans.epsilon(**plan, rounds=rounds * releases, accountant="moments").epsilon


def rounds(account, delta):
    """Return the most rounds within the budget; 0 where one is too many."""
    if epsilon(account, delta, 1) > EPSILON:
        return 0
    rate, multiplier, releases = account
    plan = {"sampling_rate": rate, "noise_multiplier": multiplier, "delta": delta}
    return plans.affordable_rounds(**plan, epsilon=EPSILON, at_most=MOST, accountant="moments") // releases
