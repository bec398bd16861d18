"""What a finished run has spent: its last round, by every accountant."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from fedpriv.account.ledgers import spends
from fedpriv.account.runs import account
from fedpriv.account.spend import Deltas, Spend
from fedpriv.config.run import Accounting
from fedpriv.errors import BadInput
from fedpriv.files import parquet, summary
from fedpriv.frozen import parse
from fedpriv.paper.cells import with_cells
from fedpriv.paper.paper import load_paper
from fedpriv.paper.spends import SPEND_COLUMNS


def account_run(
    directory: Path, delta: float | None = None, instance_delta: float | None = None
) -> list[Spend]:
    """Write the ledger of a run directory and return every spend after the last round.

    What is not given is the run's own. A ledger that counts at another δ belongs to whoever made it, and
    what was rendered from it: BadInput, as for a run directory that is missing or corrupt.
    """
    if not directory.is_dir():
        raise BadInput(f"{directory}: found no such folder, allowed: a run directory")
    counted = counted_at(directory)
    own = configured(directory)._replace(**counted)
    asked = {"delta": delta, "instance_delta": instance_delta}
    wanted = own._replace(**{name: value for name, value in asked.items() if value is not None})
    for name, value in wanted._asdict().items():
        if name in counted and value != counted[name] and 0 < value < 1:
            there = directory / "ledger.parquet"
            raise BadInput(
                f"{name}: found {value:g}, allowed: {counted[name]:g}, at which {there} counts; "
                "or remove that file"
            )
    return spends(parquet.load(account(directory, wanted)))


def used_by(directory: Path, spends: Sequence[Spend], configs: Path) -> list[list[str]]:
    """Return, of every spend, the columns of the paper's tables whose accuracy is read within it.

    There are none where the paper is not declared in `configs`.
    """
    told = summary.load(directory / "summary.json")
    with suppress(BadInput):
        paper = load_paper(str(told["paper"]), configs / "papers")
        cells = [
            (f"{name} {label}", budget)
            for name, table in with_cells(paper.tables).items()
            for row in table.rows
            for column, label in table.labels.items()
            if (cell := table.cell(row, column)).run == told["run"]
            for budget in cell.within
        ]
        return [
            [
                cited
                for cited, budget in cells
                if budget.unit in ("", spend.unit)
                and budget.spend.key == tuple(getattr(spend, name) for name in SPEND_COLUMNS)
            ]
            for spend in spends
        ]
    return [[] for _ in spends]


def counted_at(directory: Path) -> dict[str, float]:
    """Return the δ of each unit in the ledger that is there, by their names in `Deltas`; none if none is."""
    with suppress(OSError, ValueError, KeyError):
        frame = parquet.load(directory / "ledger.parquet", ["unit", "delta"])
        names = frame["unit"].map(lambda unit: "instance_delta" if unit == "instance" else "delta")
        return {str(name): float(rows.iloc[0]) for name, rows in frame["delta"].groupby(names)}
    return {}


def configured(directory: Path) -> Deltas:
    """Return the δ of the run's config, or the defaults where it says nothing; BadInput if they are none."""
    path = directory / "summary.json"
    found = summary.load(path).get("account", {}) if path.exists() else {}
    return Deltas(**parse(Accounting.model_validate, found, f"{path}: account").model_dump())
