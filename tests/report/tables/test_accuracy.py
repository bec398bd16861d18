"""Tables say what was measured, beside what was published, and what it rests on."""

import numpy as np
from support.made_runs import write_run

from fedpriv.report import numbers, render
from fedpriv.report.collect import collect, load
from fedpriv.report.tables import KINDS


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
    assert {value for name, value in line.items() if name not in ("Clients", "Source")} == {numbers.NONE}
    assert "Not run in this preset: n1000_dp, n1000_none." in table.notes


def test_a_budget_that_affords_no_round_shows_a_dash_with_a_note(frame, declared):
    data = declared.model_dump()
    data["rows"][0]["published"]["dp"]["epsilon"] = 0.1
    table = table_of(frame, type(declared).model_validate(data))
    assert lines(table)[0]["Accuracy (%) DP"] == lines(table)[0]["Privacy (ε, δ) DP"] == numbers.NONE
    assert table.notes[0].startswith(numbers.NONE)
    found = table.tidy.query("row == 100 and column == 'dp' and source == 'reproduced'")
    assert set(found["status"]) == {"no round within the budget"}


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
        "a processor, 2 cores by torch, float32",
        "results version 2",
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


def test_a_bound_taken_from_private_data_is_said_and_is_no_mismatch_of_sampling(tmp_path, declared):
    facts = {"clip_private": True}
    run = write_run(tmp_path, "n100_dp", 0, scheme="client_dp", assumptions_met=False, facts=facts)
    notes = "\n".join(table_of(load(collect([run], tmp_path / "runs.parquet")), declared).notes)
    assert "was taken from private data" in notes and "Sampling mismatch" not in notes


def test_noise_on_what_nothing_bounds_is_said_to_hide_nobody(tmp_path, declared):
    facts = {"clip_l2": np.inf, "noise_multiplier": 0.0, "noise_std": 1.5}
    run = write_run(tmp_path, "n100_dp", 0, scheme="client_dp", facts=facts)
    notes = "\n".join(table_of(load(collect([run], tmp_path / "runs.parquet")), declared).notes)
    assert "Nothing bounds what a client adds to the sum in n100_dp" in notes and "std 1.5" in notes


def test_a_published_round_stands_under_the_one_that_was_read(frame, declared):
    (row, _), column = declared.rows, ("Read at round", "DP")
    printed = row.published["dp"].model_copy(update={"round": 11})
    dated = row.model_copy(update={"published": row.published | {"dp": printed}})
    found = table_of(frame, declared.model_copy(update={"rows": (dated,)})).display
    assert found[column].tolist() == ["10", "11"]


def test_every_reproduced_epsilon_of_the_csv_comes_with_its_meaning(frame, declared):
    tidy = table_of(frame, declared).tidy
    epsilons = tidy[(tidy["quantity"] == "epsilon") & (tidy["source"] == "reproduced")]
    meaning = ["accountant", "unit", "relation", "sampling_law", "kind", "run", "seeds"]
    assert len(epsilons) == 2 and epsilons[meaning].notna().all(axis=None)


def test_the_csv_holds_every_published_number(frame, declared):
    tidy = table_of(frame, declared).tidy
    published = tidy[tidy["source"] == "published"]
    assert len(published) == len(declared.rows) * (1 + 2 * 3)


def test_a_table_whose_settings_were_searched_says_that_nobody_paid(frame, declared):
    notes = KINDS["accuracy"](frame, declared.model_copy(update={"searched": 5}), "table1").notes
    (said,) = [note for note in notes if "tuning is not free" in note]
    assert "among 5 candidates" in said and "not charged for" in said
    assert not any("candidates" in note for note in KINDS["accuracy"](frame, declared, "table1").notes)
