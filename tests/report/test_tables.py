"""Tables say what was measured, beside what was published, and what it rests on."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import write_run

from fedpriv.report import cells, render
from fedpriv.report.collect import collect, load
from fedpriv.report.declared_tables import RankingTable, SpendsTable
from fedpriv.report.tables import KINDS, write


def table_of(frame, declared):
    return KINDS[declared.kind](frame, declared, "table1")


def lines(table):
    return render.flat(table.display).to_dict("records")


def test_a_published_line_stands_under_every_reproduced_one(frame, declared):
    assert [line["Source"] for line in lines(table_of(frame, declared))] == [
        "reproduced",
        "published",
        "not run",
        "published",
    ]


def test_columns_are_read_within_their_own_published_budget(frame, declared):
    ours, theirs, *_ = lines(table_of(frame, declared))
    assert ours == {
        "Clients": "100",
        "Source": "reproduced",
        "Accuracy (%) Baseline": "97.1 ± 0.2",
        "Accuracy (%) DP": "45.1 ± 0.1",
        "Accuracy (%) BDP": "90.1 ± 0.2",
        "Privacy (ε, δ) DP": "(5.66, 10⁻³)",
        "Privacy (ε, δ) BDP": "(2.00, 10⁻³)",
        "Read at round DP": "10",
        "Read at round BDP": "20",
    }
    assert theirs["Accuracy (%) DP"] == "45" and theirs["Privacy (ε, δ) DP"] == "(6, 10⁻³)"


def test_a_row_that_was_not_run_shows_dashes_and_its_runs_are_named(frame, declared):
    table = table_of(frame, declared)
    line = lines(table)[2]
    assert {value for name, value in line.items() if name not in ("Clients", "Source")} == {cells.NONE}
    assert "Not run in this preset: n1000_dp, n1000_none." in table.notes


def test_a_budget_that_affords_no_round_shows_a_dash_with_a_note(frame, declared):
    data = declared.model_dump()
    data["rows"][0]["published"]["dp"]["epsilon"] = 0.1
    table = table_of(frame, type(declared).model_validate(data))
    assert lines(table)[0]["Accuracy (%) DP"] == lines(table)[0]["Privacy (ε, δ) DP"] == cells.NONE
    assert table.notes[0].startswith(cells.NONE)
    numbers = table.tidy.query("row == 100 and column == 'dp' and source == 'reproduced'")
    assert set(numbers["status"]) == {"no round within the budget"}


def test_the_footnotes_name_everything_that_a_number_rests_on(tmp_path, declared):
    runs = [
        write_run(
            tmp_path, run, seed, scheme="client_dp" if run.endswith("dp") else "none", stand_in_for="mnist"
        )
        for run in ("n100_none", "n100_dp")
        for seed in range(2)
    ]
    notes = "\n".join(table_of(load(collect(runs, tmp_path / "runs.parquet")), declared).notes)
    for words in (
        "Model: cnn, activation tanh, widths 8-16",
        "digits standing in for mnist: these are not the paper's data",
        "1,437 training examples",
        "360 test examples",
        "Seeds a run: 2",
        "95 % Student-t interval",
        "poisson sampling, rate 0.3",
        "σ = 3, C = 0.3",
        "no example is repeated",
        "a processor, 2 cores in float32",
        "unit client",
        "neighbours by add_remove",
        "estimate, never a guarantee: see docs/accounting.md",
    ):
        assert words in notes


def test_a_sampling_mismatch_is_said(tmp_path, declared):
    runs = [
        write_run(
            tmp_path, run, 0, scheme="client_dp" if run.endswith("dp") else "none", assumptions_met=False
        )
        for run in ("n100_none", "n100_dp")
    ]
    notes = "\n".join(table_of(load(collect(runs, tmp_path / "runs.parquet")), declared).notes)
    assert "Sampling mismatch" in notes and "one seed has no interval" in notes


def test_every_reproduced_epsilon_of_the_csv_comes_with_its_meaning(frame, declared):
    tidy = table_of(frame, declared).tidy
    epsilons = tidy[(tidy["quantity"] == "epsilon") & (tidy["source"] == "reproduced")]
    meaning = ["accountant", "unit", "relation", "sampling_law", "kind", "run", "seeds"]
    assert len(epsilons) == 2 and epsilons[meaning].notna().all(axis=None)


def test_the_csv_holds_every_published_number(frame, declared):
    tidy = table_of(frame, declared).tidy
    published = tidy[tidy["source"] == "published"]
    assert len(published) == len(declared.rows) * (1 + 2 * 3)


def test_the_companion_reads_every_spend_at_the_rounds_of_the_table(frame, declared):
    spends = ["moments C", "moments 2C", "bayesian product remove_mean", "bayesian panel remove_mean"]
    companion = SpendsTable.model_validate(declared.model_dump() | {"kind": "spends", "spends": spends})
    table = table_of(frame, companion)
    shown = lines(table)
    dp, bdp = "N = 100, δ = 10⁻³ DP, round 10", "N = 100, δ = 10⁻³ BDP, round 20"
    assert [line["Kind"] for line in shown] == ["guarantee", "guarantee", "estimate", "estimate"]
    assert [line[dp] for line in shown] == ["5.66 (99.7)", "12.02 (> 99.9)", "1.41 (80.4)", cells.NONE]
    assert shown[1][bdp] == "17.00 (> 99.9)"
    assert [line["Neighbours"] for line in shown[:3]] == ["add_remove", "replace_one", "add_remove"]


def test_a_companion_of_runs_that_were_not_run_says_so(frame, declared):
    only = declared.model_dump() | {"kind": "spends", "spends": ["moments C"]}
    only["rows"] = only["rows"][1:]
    table = table_of(frame, SpendsTable.model_validate(only))
    assert any("Not run" in note for note in table.notes) and table.tidy.empty


RANKING = {
    "title": "Search",
    "match": "n100_*",
    "keys": ["server.learning_rate", "no.such"],
    "budgets": [{"label": "DP", "spend": "moments C", "epsilon": 6.0}],
}


def test_a_ranking_puts_the_best_within_the_first_budget_first_and_the_unaffordable_last(frame):
    shown = lines(table_of(frame, RankingTable.model_validate(RANKING)))
    assert [line["Run"] for line in shown] == ["n100_dp", "n100_none"]
    assert [line["server.learning_rate"] for line in shown] == ["0.9", "0.97"]
    assert shown[0]["Accuracy (%) DP"] == "45.1 ± 0.1" and shown[1]["Accuracy (%) DP"] == cells.NONE
    assert shown[1]["no.such"] == ""


def test_a_ranking_without_budgets_goes_by_the_last_round(frame):
    shown = lines(table_of(frame, RankingTable.model_validate(RANKING | {"budgets": []})))
    assert [line["Run"] for line in shown] == ["n100_none", "n100_dp"]


def test_a_ranking_of_nothing_says_what_was_looked_for(frame):
    shown = lines(table_of(frame, RankingTable.model_validate(RANKING | {"match": "search_*"})))
    assert shown == [{"Run": "not run: search_*"}]


def test_a_table_becomes_four_files(runs, declared, tmp_path):
    written = write(runs, declared, tmp_path / "tables" / "table1")
    assert [path.suffix for path in written] == [".csv", ".md", ".tex", ".html"]
    assert "97.1 ± 0.2" in (tmp_path / "tables/table1.md").read_text()
    assert len(pd.read_csv(tmp_path / "tables/table1.csv")) > 20


def test_the_latex_has_booktabs_rules_and_only_ascii(runs, declared, tmp_path):
    write(runs, declared, tmp_path / "table1")
    text = (tmp_path / "table1.tex").read_text()
    assert text.isascii()
    assert all(rule in text for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\label{tab:table1}"))
    assert text.count("{") == text.count("}")
    assert r"Privacy ($\varepsilon$, $\delta$)" in text and "10$^{-3}$" in text


@given(st.text(alphabet="ab_%&$#{}~^\\<>±−≤≥αβγρμεδσλ⁻³×·–—∞", max_size=30))
def test_escaped_text_is_plain_to_latex(text):
    escaped = render.escape(text)
    assert escaped.isascii()
    # Outside of maths nothing is left that LaTeX reads as markup.
    prose = re.sub(r"(?<!\\)\$.*?(?<!\\)\$", "", escaped)
    prose = re.sub(r"\\text\w+\{\}|\\[&%$#_{}]", "", prose)
    assert not set(prose) & set("&%$#_{}~^\\")


@pytest.mark.parametrize(
    "value, text",
    [(1e-3, "10⁻³"), (1e-12, "10⁻¹²"), (2.5e-5, "2.5 · 10⁻⁵"), (0.1, "10⁻¹")],
)
def test_a_delta_is_a_power_of_ten_where_it_is_one(value, text):
    assert cells.delta(value) == text


def test_numbers_are_printed_with_their_interval():
    assert cells.percent([0.88, 0.90]) == "89.0 ± 12.7"
    assert cells.percent([0.88]) == "88.0"
    assert cells.percent([0.88, np.nan]) == cells.NONE
    assert cells.percent([-0.05, -0.05]) == "−5.0"
    assert cells.epsilon([0.05, 0.05]) == "0.050"
    assert cells.epsilon([0.00042]) == "0.00042"
    assert cells.epsilon([20464.56]) == "20465"
    assert cells.epsilon([np.inf, np.inf]) == "∞"
    assert cells.rounds([280, 285]) == "280–285"
    assert cells.attacker(0.99966) == "> 99.9"
