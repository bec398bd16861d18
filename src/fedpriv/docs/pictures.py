"""The pictures of the pages: what was published beside what was reproduced, and beside what is guaranteed."""

from pathlib import Path

from fedpriv.docs.papers import REFERENCE
from fedpriv.report.compared import published_and_reproduced
from fedpriv.report.figures import plain_style
from fedpriv.report.figures.published import draw_published

# Picture -> what its numbers are, and its tables by their paper, as a reader knows them.
PICTURES = {
    "published.png": (
        "reproduced",
        {
            ("paper/bdp2019", "table1"): "Table I, MNIST non-i.i.d.; by clients",
            ("paper/bdp2019", "table2"): "Table II, MNIST i.i.d.; by clients",
            ("paper/bdp2019", "table3"): "Table III, APTOS, by clients; reproduced on another network",
            ("paper/bdp2019", "table4"): "Table IV, both levels; by data",
            ("paper/global_dp", "table"): "Geyer et al., clients; quoted from memory",
        },
    ),
    "guaranteed.png": (
        "guaranteed at the same (ε, δ)",
        {
            ("guarantees/guarantees", "table1"): "Table I, MNIST non-i.i.d.; by clients",
            ("guarantees/guarantees", "table2"): "Table II, MNIST i.i.d.; by clients",
            ("guarantees/guarantees", "table3"): "Table III, APTOS 2019; by clients",
            ("guarantees/guarantees", "table4"): "Table IV, both levels; by data",
        },
    ),
}
COLUMNS = {"baseline": "none", "dp": "DP", "bdp": "Bayes", "median": "DP", "guarantee": ""}
ROWS = {"MNIST (i.i.d.)": "MNIST", "MNIST (non-i.i.d.)": "MNIST non-i.i.d.", "APTOS 2019": "APTOS"}


def draw_pictures(root: Path) -> None:
    """Draw the pictures into docs/: the published cells of each table beside what was measured."""
    for name, (measured, tables) in PICTURES.items():
        panels = {}
        for (paper, table), title in tables.items():
            cells = published_and_reproduced(root / REFERENCE / paper).query(f"table == '{table}'")
            rows = [ROWS.get(row) or f"{int(row):,}" for row in cells["row"]]
            panels[title] = cells.assign(row=rows, column=cells["column"].map(COLUMNS))
        with plain_style():
            figure = draw_published(panels, measured)
            figure.savefig(root / "docs" / name, dpi=160, metadata={"Software": None})
