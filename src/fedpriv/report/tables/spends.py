"""The companion of a table of accuracies: every way of counting its runs, at the rounds it was read at."""

from collections.abc import Sequence

from fedpriv.account.spend import attacker_accuracy
from fedpriv.paper.cells import titled
from fedpriv.paper.spends import SPEND_COLUMNS, SpendSelector
from fedpriv.paper.tables import SpendsTable
from fedpriv.report import numbers
from fedpriv.report.notes import LEVELS, RELATIONS, accountings, stand_ins
from fedpriv.report.reading import MEANING, epsilon_at, meaning, spent
from fedpriv.report.render import Table
from fedpriv.report.results import Results, rows_of
from fedpriv.report.tables.accuracy import deltas, how_read, run_notes
from fedpriv.report.tables.cells import cell_numbers
from fedpriv.report.tables.long import STATISTIC, Number, display_frame, spend_words, tidy

COLUMNS = ["table", "row", "column", "quantity", *STATISTIC, "run", "delta", *SPEND_COLUMNS, *MEANING]
CELLS = "Cells: ε, and in brackets the accuracy (%) of a membership attack that it leaves, uniform prior."
MATCHING = "A fair comparison has equal sensitivity: remove_sum goes with C, remove_mean with 2C."


def spends_table(results: Results, declared: SpendsTable, name: str) -> Table:
    """Return a line for every way of counting, a column for every place where the table was read."""
    of, spends = declared.of, declared.spends
    base = cell_numbers(results, of)
    places = [line for line in base if line["quantity"] == "round" and line["column"] in of.columns]
    found = [{spend: spend_numbers(results, place, spend) for spend in spends} for place in places]
    read = [f"{of.columns[one['column']].label}, round {numbers.rounds(one['sample'])}" for one in places]
    named = [(group(results, place), said) for place, said in zip(places, read, strict=True)]
    # A way of counting that no run here has is no line, unless there is no other.
    spends = [spend for spend in spends if any(lines[spend] for lines in found)] or list(spends)
    shown = [
        row_header(spend, [line for lines in found for line in lines[spend]], both="" not in deltas(of))
        | {place: cell(lines[spend]) for place, lines in zip(named, found, strict=True)}
        for spend in spends
    ]
    used = results.of(*of.runs())
    title = titled(declared) + stand_ins(used.runs)
    long = tidy(name, COLUMNS, [line for lines in found for some in lines.values() for line in some])
    notes = dict.fromkeys([CELLS, MATCHING, *accountings(spends), *how_read(of, base), *run_notes(used, of)])
    return Table(name, title, long, display_frame(shown), list(notes))


def spend_numbers(results: Results, place: Number, spend: SpendSelector) -> list[Number]:
    """Return an ε, and what it leaves to an attacker, at the rounds of `place`; nothing if not counted."""
    rows = spent(results, place["run"], spend)
    if rows.empty:
        return []
    epsilons = epsilon_at(results, place["run"], spend, place["sample"])
    key = {name: place[name] for name in ("row", "column", "run")}
    key |= spend_words(spend) | meaning(rows, "delta")
    return [
        key | {"quantity": "epsilon", "sample": epsilons},
        key | {"quantity": "attacker_accuracy", "sample": epsilons.map(attacker_accuracy)},
    ]


def row_header(spend: SpendSelector, lines: Sequence[Number], both: bool) -> dict[tuple[str, str], str]:
    """Return what is said of an ε before its numbers; at both levels, whose ε it is at which δ as well."""
    found = {
        name: sorted({line[name] for line in lines if line["unit"] != "none"})
        for name in ("relation", "unit", "delta")
    }
    counted = list(dict.fromkeys(line["epsilon_status"] for line in lines if line["unit"] != "none"))
    header = {"ε counted by": str(spend), "Status": "; ".join(counted) or spend.kind}
    header["Neighbours"] = ", ".join(RELATIONS[one] for one in found["relation"])
    if both:
        header["Level"] = ", ".join(LEVELS[one] for one in found["unit"])
        header["δ"] = ", ".join(map(numbers.delta, reversed(found["delta"])))
    return {("", name): words or numbers.NONE for name, words in header.items()}


def group(results: Results, place: Number) -> str:
    """Return what stands above the columns of a row: its label, or the clients and the δ of its one run."""
    if isinstance(place["row"], str):
        return place["row"]
    rounds, epsilons = (rows_of(table, place["run"]) for table in (results.rounds, results.epsilons))
    return f"N = {rounds['population'].iloc[0]:,}, δ = {numbers.delta(epsilons['delta'].iloc[0])}"


def cell(lines: Sequence[Number]) -> str:
    """Return ε and what it leaves to an attacker."""
    if not lines or (text := numbers.epsilon(lines[0]["sample"], lines[0]["epsilon_status"])) == numbers.NONE:
        return numbers.NONE
    return f"{text} ({numbers.attacker(float(attacker_accuracy(lines[0]['sample'].mean())))})"
