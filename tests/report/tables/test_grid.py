"""AccuracyTable and columns of runs, as a paper prints them."""

import pytest
from support.made_claims import claim, outcomes
from support.made_runs import write_run

from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.paper.tables import AccuracyTable, accuracy_tables
from fedpriv.report.results import collect, load_results
from fedpriv.report.tables import TABLE_KINDS

GRID = {
    "kind": "accuracy",
    "place": "Evaluation",
    "title": "Accuracy",
    "heading": "ε",
    "columns": {"c3": {"label": "δ = 0.01 (c = 3)"}, "c1": {"label": "δ = 0.76 (c = 1)"}},
    "rows": [
        {
            "label": epsilon,
            "clients": 100,
            "runs": {column: f"e{epsilon}_{column}" for column in ("c3", "c1")},
            "published": published,
        }
        for epsilon, published in (("10", {"c3": 0.1173, "c1": 0.4171}), ("100", {"c3": 0.748}))
    ],
}


@pytest.fixture
def declared() -> AccuracyTable:
    return AccuracyTable.model_validate(GRID)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grid")
    made = {"e10_c3": 0.1, "e10_c1": 0.42, "e100_c1": 0.8}
    runs = [
        write_run(folder, run, seed, scheme="none", final=f) for run, f in made.items() for seed in range(2)
    ]
    return load_results(collect(runs, folder))


def test_a_grid_has_the_papers_layout_with_what_is_published_in_brackets(results, declared):
    table = TABLE_KINDS["accuracy"](results, declared, "grid")
    assert table.title == "Evaluation. Accuracy"
    assert table.display.to_numpy().tolist() == [
        ["10", "10.1 ± 0.6 (11.73)", "42.0 ± 0.6 (41.71)"],
        ["100", "— (74.80)", "80.0 ± 0.6"],
    ]
    assert "Not run in this preset: 100 (δ = 0.01 (c = 3))." in table.notes[0]


def test_the_csv_of_a_grid_holds_what_comparisons_read(results, declared):
    tidy = TABLE_KINDS["accuracy"](results, declared, "grid").tidy.query("quantity == 'accuracy'")
    assert len(tidy.query("source == 'published'")) == 3
    assert set(tidy.query("source == 'reproduced'")["status"]) == {"ok", "not run"}


def test_a_claim_may_be_about_the_cells_of_a_grid(results, declared):
    check, rows = "accuracy(c3) >= published(c3) - 0.02", {"tables": ["grid"], "labels": ["10"]}
    tables = accuracy_tables({"grid": declared})
    claim(check, **rows).validate_names("claims.it", tables, list(declared.runs()))
    (outcome,) = outcomes(results, check, tables, **rows)
    assert outcome.cell == "Evaluation, 10" and outcome.margins == pytest.approx([0.0027, 0.0037])


@pytest.mark.parametrize(
    "key, value, words",
    [
        ("runs", {"c3": "a"}, "exactly the columns c3, c1"),
        ("published", {"c2": 0.1}, "some of the columns c3, c1"),
        ("label", "100", "every label once"),
    ],
)
def test_a_grid_that_does_not_fit_together_is_refused(key, value, words):
    rows = [GRID["rows"][0] | {key: value}, GRID["rows"][1]]
    with pytest.raises(BadInput, match=words):
        parse(AccuracyTable.model_validate, GRID | {"rows": rows}, "paper.yaml")
