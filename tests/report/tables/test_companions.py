"""Every way of counting ε, at the rounds at which another table was read."""

from fedpriv.paper.tables import AccuracyTable, EpsilonsTable, resolve_tables
from fedpriv.report.tables import TABLE_KINDS


def companion_of(results, declared, selectors):
    spec = {"title": "Every ε", "of": declared.model_dump(), "accountants": selectors}
    return TABLE_KINDS["epsilons"](results, EpsilonsTable.model_validate(spec), "companion")


def lines(table):
    return table.display.to_dict("records")


def test_the_companion_reads_every_spend_at_the_rounds_of_the_table(results, declared):
    selectors = ["moments C", "moments 2C", "bayesian product remove_mean", "bayesian panel remove_mean"]
    table = companion_of(results, declared, selectors)
    shown = lines(table)
    dp, bdp = "N = 100, δ = 10⁻³ DP, round 10", "N = 100, δ = 10⁻³ BDP, round 20"
    # Nobody was followed as a panel: what no run has is no line.
    assert [line["Status"] for line in shown] == ["guarantee", "guarantee", "estimate"]
    assert [line[dp] for line in shown] == ["5.66 (99.7)", "12.02 (> 99.9)", "1.41‡ (80.4)"]
    assert shown[1][bdp] == "17.00 (> 99.9)"
    assert [line["Neighbours"] for line in shown] == ["add-or-remove", "replace-one", "add-or-remove"]


def test_a_companion_of_runs_that_were_not_run_says_so(results, declared):
    only = AccuracyTable.model_validate(declared.model_dump() | {"rows": declared.rows[1:]})
    table = companion_of(results, only, ["moments C"])
    assert any("Not run" in note for note in table.details) and table.tidy.empty


def test_the_companion_of_both_levels_shows_the_bound_against_the_sum_beside_that_against_uploads(
    joint_results, joint
):
    selectors = ["sum moments C", "upload moments C", "sequential moments C", "parallel moments 2C"]
    table = companion_of(joint_results, joint, selectors)
    shown = lines(table)
    assert [line["Photographs BDP, round 20"] for line in shown] == [
        "1.60 (83.2)",
        "40.00 (> 99.9)",
        "0.20† (55.0)",
        "9.00 (> 99.9)",
    ]
    assert [line["Level"] for line in shown] == ["client-level"] * 2 + ["example-level"] * 2
    assert [line["δ"] for line in shown] == ["10⁻³", "10⁻³", "10⁻⁵", "10⁻⁵"]
    failing = "not a guarantee: the client that holds an example stays the same"
    assert [line["Status"] for line in shown] == ["guarantee", "guarantee", failing, "guarantee"]
    assert len(table.tidy) == 2 * 3 * len(selectors)


def test_a_companion_holds_the_table_that_it_names_and_the_defaults_of_its_kind(declared):
    tables = {
        "table1": declared.model_dump(),
        "every": {"kind": "epsilons", "title": "Every ε", "of": "table1"},
        "few": {"kind": "epsilons", "title": "Few", "of": "table1", "accountants": ["rdp C"]},
    }
    whole = resolve_tables(tables, {"epsilons": {"accountants": ["moments C", "pld C"]}})
    every, few = (EpsilonsTable.model_validate(whole[name]) for name in ("every", "few"))
    assert every.of == few.of == declared and list(every.runs()) == list(declared.runs())
    assert [str(selector) for selector in every.accountants] == [
        "moments, sensitivity C",
        "pld, sensitivity C",
    ]
    assert [str(selector) for selector in few.accountants] == ["rdp, sensitivity C"]
    assert EpsilonsTable.model_validate(every.model_dump()) == every
