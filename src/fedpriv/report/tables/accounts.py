"""What an accountant counts beside what is done: arithmetic on public numbers, without any run."""

from collections.abc import Iterator

from fedpriv.account import plans
from fedpriv.account.spend import marked, status
from fedpriv.paper.cells import titled
from fedpriv.paper.tables import Account, AccountsTable, Counted
from fedpriv.report import numbers
from fedpriv.report.render import Table
from fedpriv.report.results import Results
from fedpriv.report.tables.long import Number, display_frame, tidy

MOST = 100_000  # rounds that are looked for
COLUMNS = ["table", "row", "column", "quantity", "value", "accountant", "delta", "kind", "epsilon_status"]
SHOWN = {
    "sampling_rate": ("q", lambda value: f"{value:.3g}"),
    "noise_multiplier": ("σ", lambda value: f"{value:.3g}"),
    "releases": ("releases a round", lambda value: f"{value:.0f}"),
    "epsilon": ("ε", lambda value: numbers.size([value])),
    "rounds": ("rounds", lambda value: f"{value:,.0f}"),
}
HOW = (
    "ε after {0.rounds} rounds, and the rounds whose ε is at most {0.epsilon:g}, by accountant "
    "{0.accountant} {law}, add/remove neighbours, at the δ of the line; σ is the std of the "
    "noise on a sum over what one client can add to it. Counted: as its own accountant has it. Done: what is "
    "released. 0: one round costs more."
)


def accounts_table(results: Results, declared: AccountsTable, name: str) -> Table:
    """Return a line for every way of doing it; `results` is not looked at."""
    found = {line: list(line_numbers(declared, line)) for line in declared.lines}
    shown = [shown_line(line, some) for line, some in found.items()]
    long = tidy(name, COLUMNS, [number for some in found.values() for number in some])
    why = [f"{line.label}: {line.why}" for line in declared.lines if line.why]
    how = HOW.format(declared, law=law(declared))
    return Table(name, titled(declared), long, display_frame(shown), [how, *why])


def law(declared: AccountsTable) -> str:
    """Return in words who takes part in a round."""
    rates = {one.sampling_rate for line in declared.lines for one in (line.counted, line.done)}
    return "with everybody in every round" if rates == {1} else "under Poisson sampling"


def line_numbers(declared: AccountsTable, line: Counted) -> Iterator[Number]:
    """Yield what is counted and what is done, each with its ε and the rounds that it affords."""
    for column, one in (("counted", line.counted), ("done", line.done)):
        key = {"row": line.label, "column": column, "accountant": declared.accountant, "delta": line.delta}
        unmet = "" if one == line.done else "something else is done"
        counted = {"kind": "guarantee", "epsilon_status": status("guarantee", unmet)}
        told = one.model_dump() | {
            "epsilon": spent(declared, line.delta, one, declared.rounds),
            "rounds": affordable(declared, line.delta, one),
        }
        for name, value in told.items():
            yield key | {"quantity": name, "value": value} | (counted if name == "epsilon" else {})


def spent(declared: AccountsTable, delta: float, one: Account, rounds: int) -> float:
    """Return the ε of so many rounds."""
    return plans.epsilon(
        sampling_rate=one.sampling_rate,
        noise_multiplier=one.noise_multiplier,
        rounds=rounds * one.releases,
        delta=delta,
        accountant=declared.accountant,
    ).epsilon


def affordable(declared: AccountsTable, delta: float, one: Account) -> int:
    """Return the most rounds within the budget; 0 where one is too many."""
    if spent(declared, delta, one, 1) > declared.epsilon:
        return 0
    releases = plans.affordable_rounds(
        epsilon=declared.epsilon,
        delta=delta,
        sampling_rate=one.sampling_rate,
        noise_multiplier=one.noise_multiplier,
        at_most=MOST,
        accountant=declared.accountant,
    )
    return releases // one.releases


def shown_line(line: Counted, found: list[Number]) -> dict[tuple[str, str], str]:
    """Return the cells of one line."""
    words = {("", "What"): line.label, ("", "δ"): numbers.delta(line.delta)}
    for number in found:
        label, show = SHOWN[number["quantity"]]
        text = marked(show(number["value"]), number.get("epsilon_status", "guarantee"))
        words[(str(number["column"]).capitalize(), label)] = text
    return words
