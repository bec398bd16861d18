import json

import pandas as pd
import pytest

from fedpriv.audit.finding import Finding
from fedpriv.audit.finished import FINDING_COLUMNS
from fedpriv.paper.tables import AuditsTable
from fedpriv.report.collect import SCHEMAS
from fedpriv.report.results import to_categories
from fedpriv.report.tables.audits import Refuted, audits_table
from fedpriv.store import parquet

ABOUT = "client (bayesian product remove_sum)"
ESTIMATE = Finding("outlier", ABOUT, "estimate", 2.0, 1e-3, 2.57, 1.0, "no run")
GUARANTEE = Finding("outlier", "client (moments C)", "guarantee", 8.0, 1e-3, 6.0, 1.0, "no run")
DECLARED = AuditsTable(
    title="Audits", lines=[{"run": "one", "label": "first"}, {"run": "gone", "label": "x"}]
)


@pytest.fixture
def results_of(tmp_path):
    """Return the results of one run with these findings by seed, and nothing else that is known."""

    def made(*by_seed):
        told = {"run": "one", "round": 1, "config": json.dumps({"scheme": {"name": "none"}})}
        told |= {"sensitivity": "C", "accountant": "pld", "unit": "client", "epsilon": 7.0}
        tables = {
            name: pd.DataFrame([row(schema) | told | {"seed": seed} for seed in range(len(by_seed))])[
                [*schema]
            ]
            for name, schema in SCHEMAS.items()
        }
        found = [
            {"run": "one", "seed": seed} | one._asdict() for seed, some in enumerate(by_seed) for one in some
        ]
        parquet.save_frame(pd.DataFrame(found, columns=FINDING_COLUMNS), tmp_path / "findings.parquet")
        return to_categories(tables, tmp_path / "findings.parquet")

    return made


def row(schema):
    """Return a row of which nothing is known."""
    return {name: 0 if "int" in dtype else 0.0 if "float" in dtype else "" for name, dtype in schema.items()}


@pytest.fixture(autouse=True)
def no_footnotes(monkeypatch):
    monkeypatch.setattr("fedpriv.report.notes.footnotes", lambda used: [])


def test_a_line_holds_what_is_stated_the_bound_the_verdict_and_the_cost(results_of):
    table = audits_table(results_of([ESTIMATE, GUARANTEE]), DECLARED, "audits")
    first, second = (list(row) for row in table.display.to_numpy())
    assert first == [
        "first",
        ABOUT,
        "estimate",
        "2.00‡",
        "10⁻³",
        "outlier",
        "2.57",
        "arithmetic",
        "refuted",
        "no run",
    ]
    assert second[1] == "client (moments C)" and second[8] == "not refuted"
    assert table.details[0].startswith("outlier: An attacker") and "preset: gone." in table.details[-1]


def test_the_csv_holds_the_stated_number_and_the_bound_over_seeds(results_of):
    other = ESTIMATE._replace(epsilon=4.0, lower_bound=3.57)
    table = audits_table(results_of([ESTIMATE], [other]), DECLARED, "audits")
    numbers = table.tidy.set_index("quantity")["value"]
    assert numbers["epsilon"] == pytest.approx(3.0) and numbers["lower_bound"] == pytest.approx(3.07)
    assert set(table.tidy["verdict"]) == {"refuted (1 of 2 seeds)"}
    assert set(table.tidy["epsilon_status"]) == set(table.tidy["kind"]) == {"estimate"}


def test_a_refuted_guarantee_is_no_table_but_an_error_that_names_the_run(results_of):
    wrong = GUARANTEE._replace(lower_bound=8.1)
    with pytest.raises(Refuted, match=r"one seed 0: refuted: client \(moments C\)"):
        audits_table(results_of([wrong]), DECLARED, "audits")
