"""Tables say what was measured, beside what was published, and what it rests on."""

from pathlib import Path

import numpy as np
import pytest
from support.made_runs import write_run

from fedpriv import account
from fedpriv.paper.claims import Claim
from fedpriv.paper.tables import AccuracyTable
from fedpriv.report import numbers
from fedpriv.report.collect import collect
from fedpriv.report.notes import VIOLATIONS
from fedpriv.report.render import INDENT
from fedpriv.report.results import load_results
from fedpriv.report.tables import TABLE_KINDS


def table_of(results, declared):
    return TABLE_KINDS[declared.kind](results, declared, "table1")


def lines(block):
    """Return the lines of a block, by what they are called; those under a row follow it."""
    names, rows = list(block.columns), block.to_numpy().tolist()
    return [dict(zip(names, row, strict=True)) for row in rows]


def said(table):
    return "\n".join((*table.notes, *table.details))


def test_what_is_published_stands_in_brackets_and_below_it_what_each_column_cost(results, declared):
    table = table_of(results, declared)
    assert lines(table.display) == [
        {"Clients": "100", "Baseline": "97.1 ± 0.2 (97)", "DP": "45.1 ± 0.1 (45)", "BDP": "90.1 ± 0.2 (88)"},
        {"Clients": f"{INDENT}ε", "Baseline": "", "DP": "5.66 (6)", "BDP": "2.00‡ (4)"},
    ]
    assert table.ours is None and "ε at δ = 10⁻³" in table.notes[0]
    assert "Read at round: N = 100: DP 10, BDP 20." in table.details


def test_a_row_that_was_not_run_is_left_out_and_named(results, declared):
    table = table_of(results, declared)
    assert not any(line["Clients"] == "1,000" for line in lines(table.display))
    assert "Not run in this preset: N = 1,000." in table.notes[0]
    alone = table_of(results, declared.model_copy(update={"rows": declared.rows[1:]}))
    assert lines(alone.display)[0]["DP"] == f"{numbers.NONE} (45)"


def test_a_budget_that_affords_no_round_shows_a_dash_with_a_note(results, declared):
    data = declared.model_dump()
    data["rows"][0]["published"]["dp"]["epsilon"] = 0.1
    table = table_of(results, type(declared).model_validate(data))
    accuracy, epsilon, *_ = lines(table.display)
    assert (accuracy["DP"], epsilon["DP"]) == (f"{numbers.NONE} (45)", f"{numbers.NONE} (0.1)")
    assert f"{numbers.NONE}: some seed has no evaluated round" in table.notes[0]
    found = table.tidy.query("row == 100 and column == 'dp' and source == 'reproduced'")
    assert set(found["status"]) == {"no round within the budget"}


def test_the_footnotes_name_everything_that_a_number_rests_on(tmp_path, declared):
    runs = [
        write_run(
            tmp_path, run, seed, scheme="client_dp" if run.endswith("dp") else "none", substitute_for="mnist"
        )
        for run in ("n100_none", "n100_dp")
        for seed in range(2)
    ]
    notes = said(table_of(load_results(collect(runs, tmp_path)), declared))
    for words in (
        "Model: cnn, activation tanh, widths 8-16 (1,000 parameters).",
        "Data: digits, substitute data for mnist.",
        "in brackets: published, on mnist, and not comparable",
        "Seeds a run: 2",
        "95 % Student-t interval",
        "minutes on a processor, 2 cores, results version 2. What each run was set to: runs.md.",
        "client-level, add-or-remove neighbours",
        "estimate, never a guarantee: see docs/guarantees.md",
    ):
        assert words in notes


@pytest.mark.parametrize("violation", VIOLATIONS)
def test_an_assumption_that_fails_is_one_that_accounting_names_and_the_details_say_what_it_means(
    violation, tmp_path, declared
):
    run = write_run(tmp_path, "n100_dp", 0, scheme="client_dp", violation=violation)
    notes = said(table_of(load_results(collect([run], tmp_path)), declared))
    assert [one for one in VIOLATIONS.values() if one in notes] == [VIOLATIONS[violation]]
    assert "one seed has no interval" in notes
    sources = (path.read_text("utf-8") for path in Path(account.__file__).parent.glob("*.py"))
    assert any(f'"{violation}"' in source for source in sources)


def test_noise_on_what_nothing_bounds_is_said_to_hide_nobody(tmp_path, declared):
    facts = {"clip_l2": np.inf, "noise_multiplier": 0.0, "noise_std": 1.5}
    run = write_run(tmp_path, "n100_dp", 0, scheme="client_dp", facts=facts)
    notes = said(table_of(load_results(collect([run], tmp_path)), declared))
    assert "Nothing bounds what a client adds to the sum in n100_dp" in notes and "std 1.5" in notes


def test_a_published_round_stands_beside_the_one_that_was_read(results, declared):
    row = declared.rows[0]
    printed = row.published["dp"].model_copy(update={"round": 11})
    dated = row.model_copy(update={"published": row.published | {"dp": printed}})
    found = lines(table_of(results, declared.model_copy(update={"rows": (dated,)})).display)[-1]
    assert (found["Clients"], found["DP"], found["BDP"]) == (f"{INDENT}round", "10 (11)", "20")


def test_a_table_whose_settings_were_searched_says_that_nobody_paid(results, declared):
    (found,) = [
        note
        for note in table_of(results, declared.model_copy(update={"searched": 5})).details
        if "tuning is not free" in note
    ]
    assert "among 5 candidates" in found and "no ε here pays for the search" in found
    assert "candidates" not in said(table_of(results, declared))


def test_a_column_without_a_published_epsilon_is_read_within_that_of_another(tmp_path, declared):
    runs = [
        write_run(tmp_path, run, seed, scheme=scheme, final=final)
        for run, scheme, final in (
            ("n100_none", "none", 0.97),
            ("n100_dp", "client_dp", 0.9),
            ("n100_tight", "client_dp", 0.8),
        )
        for seed in range(3)
    ]
    data = declared.model_dump()
    data["columns"]["tight"] = {"label": "tight", "accountant": "pld C", "within": "bdp"}
    for row in data["rows"]:
        row["runs"] = {"tight": row["run"].replace("dp", "tight")}
    table = table_of(load_results(collect(runs, tmp_path)), AccuracyTable.model_validate(data))
    # ε by PLD is 6 after 20 rounds and grows with √round: 4 is spent after round 8. The column is ours.
    assert [line["tight"] for line in lines(table.ours)] == ["32.0 ± 0.1", "3.79"]
    assert "tight" not in table.display and "tight 8" in table.details[0]
    assert "exceeds the ε published for BDP" in said(table)


def test_a_row_of_public_data_alone_is_read_at_its_end_at_an_epsilon_of_0_and_no_claim_is_about_it(
    results, declared
):
    data = declared.model_dump()
    data["rows"] = (
        *data["rows"],
        {
            "clients": 1,
            "label": "public",
            "free": True,
            "run": "n100_none",
            "baseline": data["rows"][0]["baseline"],
        },
    )
    made = type(declared).model_validate(data)
    table = table_of(results, made)
    free = table.tidy.query("row == 'public' and quantity == 'epsilon'")
    assert set(free["value"]) == {0.0}
    assert set(free["kind"]) == set(free["epsilon_status"]) == {"guarantee"}
    line, cost = lines(table.display)[-2:]
    assert line["Clients"] == "public (here N = 100)"
    assert (line["DP"], line["Baseline"]) == ("97.1 ± 0.2", "97.1 ± 0.2 (97)")
    assert (cost["Clients"], cost["DP"], cost["BDP"]) == (f"{INDENT}ε", "0", "0")
    claim = Claim.model_validate(
        {"check": "accuracy(dp) >= 0", "place": "", "text": "", "tables": ["table1"], "id": "one"}
    )
    assert [row.key for _, row in claim.rows({"table1": made})] == [100, 1000]


@pytest.mark.parametrize(
    ("metric", "values", "published", "cell", "reached", "missed"),
    [
        ("perplexity", (15.0, 16.0, 17.0), {"value": 15.5, "std": 0.2}, "16.00 ± 2.48 (15.5 ± 0.2)", 20, 12),
        ("auroc", (0.79, 0.8, 0.81), 0.83, "80.0 ± 2.5 (83)", 0.7, 0.9),
    ],
)
def test_cells_may_be_of_another_metric_and_what_is_better_is_reached(
    tmp_path, metric, values, published, cell, reached, missed
):
    made = [
        write_run(tmp_path, "text", seed, scheme="none", facts={f"test_{metric}": value})
        for seed, value in enumerate(values)
    ]
    results = load_results(collect(made, tmp_path))

    def table(number):
        row = {"clients": 100, "run": "text", "published": {"paper": number}}
        keys = {"title": "Text", "columns": {"paper": {"label": "LSTM"}}, "rows": [row]}
        return table_of(results, AccuracyTable.model_validate(keys | {"metric": metric}))

    found = table(published)
    assert found.display["LSTM"].tolist() == [cell] and "accuracy" not in said(found).split("Model")[0]
    assert found.seeds[metric].tolist() == list(values) and "accuracy" not in found.seeds
    verdicts = [table(number).tidy["verdict"].iloc[0] for number in (reached, missed)]
    assert verdicts == ["reached", "not reached"]


def test_rows_that_have_a_label_and_runs_of_their_own_stand_under_a_heading_of_theirs(tmp_path):
    made = {"e10_c3": 0.1, "e10_c1": 0.42, "e100_c1": 0.8}
    runs = [
        write_run(tmp_path, run, seed, scheme="none", final=f) for run, f in made.items() for seed in (0, 1)
    ]
    rows = [
        {
            "label": label,
            "clients": 100,
            "runs": {one: f"e{label}_{one}" for one in ("c3", "c1")},
            "published": theirs,
        }
        for label, theirs in (("10", {"c3": 0.1173, "c1": 0.4171}), ("100", {"c3": 0.748}))
    ]
    columns = {"c3": {"label": "δ = 0.01 (c = 3)"}, "c1": {"label": "δ = 0.76 (c = 1)"}}
    keys = {"place": "Evaluation", "title": "Accuracy", "heading": "ε", "columns": columns, "rows": rows}
    table = table_of(load_results(collect(runs, tmp_path)), AccuracyTable.model_validate(keys))
    assert table.title == "Evaluation. Accuracy" and list(table.display) == [
        "ε",
        *(one["label"] for one in columns.values()),
    ]
    assert table.display.to_numpy().tolist() == [
        ["10", "10.1 ± 0.6 (11.73)", "42.0 ± 0.6 (41.71)"],
        ["100", "— (74.80)", "80.0 ± 0.6"],
    ]
    assert "Not run in this preset: 100 (δ = 0.01 (c = 3))." in table.notes[0]
