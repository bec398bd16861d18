"""A table of both levels: one round within two budgets, and what was spent at each level by then."""

import numpy as np
import pytest
from support.made_runs import write_run

from fedpriv.paper.tables import AccuracyTable
from fedpriv.report import numbers, render
from fedpriv.report.collect import collect
from fedpriv.report.results import load_results
from fedpriv.report.tables import TABLE_KINDS


def table_of(results, declared):
    return TABLE_KINDS[declared.kind](results, declared, "table4")


def lines(table):
    return {line[0]: line[1:] for line in table.display.to_numpy().tolist()}


def test_both_levels_are_read_at_the_last_round_within_both_budgets(joint_results, joint):
    table = table_of(joint_results, joint)
    assert list(table.display.columns) == ["Dataset", "Baseline", "DP, as the paper", "BDP"]
    assert lines(table) == {
        "Photographs": ["70.1 ± 0.2 (70)", "8.0 ± 0.0 (42)", "65.1 ± 0.2 (64)"],
        f"{render.INDENT}client ε": ["", "0.72 (1)", "0.80‡ (1)"],
        f"{render.INDENT}example ε": ["", "0.089† (0.1)", "0.10‡ (0.1)"],
    }
    assert "client ε at δ = 10⁻³; example ε at δ = 10⁻⁵" in table.notes[0]
    assert table.details[0] == "Read at round: Photographs: DP, as the paper 4, DP-SGD 20, BDP 20."


def test_a_column_that_the_paper_does_not_have_is_ours_and_has_no_published_number(joint_results, joint):
    table = table_of(joint_results, joint)
    assert table.ours["DP-SGD"].tolist() == ["60.1 ± 0.2", "0.80", "0.10†"]
    assert table.tidy.query("source == 'published' and column == 'dpsgd'").empty


def test_the_details_say_how_both_levels_were_read_and_counted(joint_results, joint):
    notes = "\n".join(table_of(joint_results, joint).details)
    for words in (
        "BDP: read at the last evaluated round before any ε exceeds its budget",
        "client-level, zero-out neighbours, Poisson sampling",
        "example-level, add-or-remove neighbours, Poisson sampling",
        "DP, as the paper; DP-SGD: read at",
        "sequential moments, sensitivity C; example-level, ",
        "not a guarantee: the client that holds an example stays the same",
        "sum: against who sees only the sum of the uploads",
        "sequential: an example is sampled with its share of all clients' examples",
        "Sequential accounting supposes that nobody knows",
        "An example-level ε is for one augmented copy; an image has 11.",
    ):
        assert words in notes
    assert "Sampling mismatch" not in notes


def test_an_epsilon_at_each_level_comes_with_its_meaning_and_delta(joint_results, joint):
    lines = table_of(joint_results, joint).tidy.query("source == 'reproduced' and column == 'dp'")
    spent = lines.query("row == 'Photographs' and quantity in ('epsilon', 'delta')")
    found = spent.set_index(["unit", "accounting", "quantity"])["value"].to_dict()
    assert found == {
        ("client", "sum", "epsilon"): pytest.approx(1.6 * np.sqrt(0.2)),
        ("client", "sum", "delta"): 1e-3,
        ("instance", "sequential", "epsilon"): pytest.approx(0.2 * np.sqrt(0.2)),
        ("instance", "sequential", "delta"): 1e-5,
    }
    assert lines.query("quantity == 'accuracy'")["unit"].isna().all()


def test_a_row_with_another_number_of_clients_says_so(tmp_path, joint):
    run = write_run(tmp_path, "photos_none", 0, scheme="none", clients=10)
    assert (
        next(iter(lines(table_of(load_results(collect([run], tmp_path)), joint))))
        == "Photographs (here N = 10)"
    )


def test_deltas_that_differ_between_rows_stand_before_each_row(joint_results, joint):
    data = joint.model_dump()
    data["rows"][1]["budgets"]["client"]["delta"] = 1e-5
    table = table_of(joint_results, AccuracyTable.model_validate(data))
    assert f"{render.INDENT}client ε, δ=10⁻³" in lines(table) and f"{render.INDENT}example ε" in lines(table)


def test_a_ledger_without_the_epsilon_that_a_column_is_read_at_is_named(joint_results, joint):
    data = joint.model_dump()
    data["columns"]["dp"]["accountants"]["client"] = "moments C"
    table = table_of(joint_results, AccuracyTable.model_validate(data))
    assert lines(table)["Photographs"][1] == f"{numbers.NONE} (42)"
    assert "The ledger of photos_dp holds no ε (moments, sensitivity C)." in table.details
    dp = table.tidy.query("row == 'Photographs' and column == 'dp' and source == 'reproduced'")
    assert set(dp["status"]) == {"no such ε in the ledger"}
