"""Tables with a run in every line: what γ costs, what is sent, what changed, what a label certifies."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.made_runs import write_run

from fedpriv.account.plans import epsilon
from fedpriv.errors import BadInput
from fedpriv.paper.figures import DrawnRun
from fedpriv.paper.paper import load_paper
from fedpriv.paper.tables import RunsTable
from fedpriv.report import numbers, render
from fedpriv.report.collect import collect
from fedpriv.report.figures.rounds import quantity_by_seed
from fedpriv.report.results import Results, load_results
from fedpriv.report.tables.runs import runs_table

GAMMAS = {"half": 0.5, "fifth": 0.2, "tenth": 0.1}
TENSOR = {"flips": "tensor", "clear_values": 500, "upload_bytes": 125 + 2000}
LINES = [{"run": run, "label": f"γ = {gamma:g}"} for run, gamma in GAMMAS.items()]
ACCURACIES = ["accuracy_last", "accuracy_best_drawn"]
EPSILONS = [
    {"name": "epsilon", "group": "ε of one bit", "label": "exact", "accountant": "bit exact"},
    {"name": "epsilon", "group": "ε of one bit", "label": "best order", "accountant": "bit rdp"},
    {"name": "epsilon", "group": "ε of one bit", "label": "Theorem 1", "accountant": "bit theorem"},
    {"name": "epsilon", "group": "ε of all bits", "label": "uploads seen", "accountant": "bits rdp"},
    {"name": "epsilon", "group": "ε of all bits", "label": "sum seen", "accountant": "sum bits rdp"},
    {"name": "epsilon", "group": "ε of a client", "label": "uploads seen", "accountant": "all rdp"},
    {"name": "epsilon", "group": "ε of a client", "label": "sum seen", "accountant": "sum all rdp"},
]
NBAFL = ("nbafl_document", "nbafl_repository", "nbafl_bare")
SENT = ["numbers_sent", "clear_values", "upload_bytes", "float32_bytes", "times_smaller"]
DECLARED = {
    "gammas": {
        "title": "What γ costs",
        "place": "ours, beside Figure 3",
        "columns": ["gamma", "share_flipped", *EPSILONS, *ACCURACIES, "upload_bytes", "times_smaller"],
        "infinite": "nothing was flipped.",
        "lines": LINES,
    },
    "uploads": {
        "title": "What is sent",
        "columns": [*SENT, *ACCURACIES],
        "caption": "Bits are sent eight to a byte.",
        "lines": [*LINES[2:], {"run": "tensor", "label": "shared"}, {"run": "gauss", "label": "Gaussian"}],
    },
    "ablation": {
        "title": "One thing changed",
        "columns": [*ACCURACIES, "gain_last", "gain_best_drawn"],
        "match": "t*",
        "reference": "tenth",
    },
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Return the collected runs: three γ with two seeds each, and others with one."""
    folder = tmp_path_factory.mktemp("lines")
    made = [
        write_run(
            folder,
            run,
            seed,
            scheme="dpfl_bnn",
            final=0.9 + gamma / 10,
            drawn=0.98,
            scale=10 * gamma,
            facts={"gamma": gamma, "share_flipped": 0.5 - gamma},
            config={"scheme": {"gamma": gamma}},
        )
        for run, gamma in GAMMAS.items()
        for seed in range(2)
    ]
    shared = {"model": {"bn": "shared"}, "scheme": {"noise": "tensor"}}
    made.append(
        write_run(folder, "tensor", 0, scheme="dpfl_bnn", final=0.8, drawn=0.95, facts=TENSOR, config=shared)
    )
    made.append(write_run(folder, "gauss", 0, scheme="client_dp", final=0.85))
    for scaling in ("document", "repository"):
        made.append(
            write_run(folder, f"nbafl_{scaling}", 0, scheme="nbafl", config={"scheme": {"scaling": scaling}})
        )
    bare = {"upload_l2": np.inf, "broadcast_noise_std": 0.002}
    made.append(write_run(folder, "nbafl_bare", 0, scheme="nbafl", scale=np.inf, facts=bare))
    return load_results(collect(made, folder))


def said(table):
    return "\n".join((*table.notes, *table.details))


def table_of(results: Results, kind: str, **changed: object) -> render.PrintedTable:
    declared = RunsTable.model_validate(DECLARED[kind] | changed)
    found = declared.matched(results.runs["run"].unique()) if declared.match else declared
    return runs_table(results, found, kind)


def labels_of(results: Results, *runs: str) -> render.PrintedTable:
    """Return the table of labels that the paper's own script makes, of other runs."""
    declared = load_paper("nbafl", Path(__file__).parents[3] / "config/papers").tables["labels"]
    declared = declared.model_copy(update={"lines": {run: run for run in runs}})
    return declared.call(results, declared, "labels")


def lines(table: render.PrintedTable) -> list[dict]:
    return table.display.to_dict("records")


def test_every_reading_of_a_gamma_stands_beside_accuracies_and_bytes(results):
    assert lines(table_of(results, "gammas"))[2] == {
        "Run": "γ = 0.1",
        "γ": "0.1",
        "Bits flipped (%)": "40.0",
        "ε of one bit exact": "23.65",
        "ε of one bit best order": "26.15",
        "ε of one bit Theorem 1": "28.31",
        "ε of all bits uploads seen": "6.70 · 10⁵",
        "ε of all bits sum seen": "7400",
        "ε of a client uploads seen": "6.70 · 10⁵",
        "ε of a client sum seen": "7400",
        "Accuracy (%) last round": "91.0 ± 0.6",
        "Accuracy (%) best round of sampled clients": "98.0 ± 0.0",
        "Sent by a client a round bytes": "125",
        "Sent by a client a round smaller than float32": "32.0×",
    }


def test_an_infinite_epsilon_is_explained_and_a_finite_one_is_not(results):
    few = table_of(results, "gammas", lines=LINES[1:])
    assert not any(note.startswith("∞") for note in few.notes)
    endless = replace(results, epsilons=results.epsilons.assign(epsilon=np.inf))
    table = table_of(endless, "gammas")
    assert lines(table)[0]["ε of a client uploads seen"] == "∞"
    assert any(note.startswith("∞: nothing was flipped") for note in table.notes)


def test_the_notes_say_whose_accuracy_and_epsilon_it_is(results):
    notes = said(table_of(results, "uploads")) + said(table_of(results, "gammas"))
    for words in (
        "the mean over all clients' own weights",
        "on one of 10 test examples. Sampled: 50 clients",
        "test split itself chooses the round",
        "one bit of a client, replace-one neighbours, full participation, δ = 10⁻³; guarantee",
        "client-level, replace-one neighbours, full participation, δ = 10⁻³; guarantee",
        "sum: against who sees only the sum",
    ):
        assert words in notes


def test_uploads_are_held_against_the_same_numbers_in_float32(results):
    binary, shared, gaussian = lines(table_of(results, "uploads"))
    sent = "Sent by a client a round "
    assert [line[f"{sent}numbers"] for line in (binary, shared, gaussian)] == ["1,000", "1,500", "1,000"]
    assert [line[f"{sent}bytes"] for line in (binary, shared, gaussian)] == ["125", "2,125", "4,000"]
    assert shared[f"{sent}bytes in float32"] == "6,000" and shared[f"{sent}smaller than float32"] == "2.8×"
    assert gaussian[f"{sent}smaller than float32"] == "1.0×"


def test_an_ablation_shows_the_keys_that_differ_and_points_over_its_reference(results):
    table = table_of(results, "ablation")
    reference, tensor = lines(table)
    keys = {name for name in tensor if "." in name and "(" not in name}
    assert keys == {"model.bn", "scheme.noise", "server.learning_rate"}
    assert (reference["Run"], tensor["Run"]) == ("tenth", "tensor")
    assert (tensor["model.bn"], reference["model.bn"]) == ("shared", "none")
    assert tensor["Difference (points) last round"] == "−11.0"
    assert tensor["Difference (points) best round of sampled clients"] == "−3.0"
    assert table.tidy.query("quantity == 'gain_last'")["model.bn"].tolist() == ["none", "shared"]


def test_where_run_and_reference_have_both_diverged_there_is_no_difference(results):
    runs = results.runs
    gone = runs["run"].isin(["tenth", "fifth"]) & (runs["seed"] == 0)
    broken = replace(results, runs=runs.assign(diverged=runs["diverged"].where(~gone, 3)))
    (line,) = [one for one in lines(table_of(broken, "ablation", match="*")) if one["Run"] == "fifth"]
    assert line["Accuracy (%) last round"] == "diverged (1 of 2 seeds)"
    assert line["Difference (points) last round"] == "—"


def test_a_label_stands_beside_what_it_would_certify_and_what_holds(results):
    document, repository, _ = lines(labels_of(results, *NBAFL))
    assert document["ε/c"] == "10" and document["Nominal ε"] == "10†"
    assert document["Nominal δ"] == "0.758" and document["Noise, std upload"] == "0.004"
    # Twenty rounds of noise c T/ε = 2 on a sensitivity of one; the repository has lost a factor of two.
    plan = {"sampling_rate": 1, "rounds": 20, "delta": 1e-3, "accountant": "pld"}
    for line, multiplier in ((document, 2.0), (repository, 1.0)):
        size = numbers.size([epsilon(noise_multiplier=multiplier, **plan).epsilon])
        assert line["ε if 2C/n held"] == f"{size}†"
        assert line["ε that holds"] == "500.00"


def test_noise_over_an_unbounded_upload_certifies_nothing(results):
    table = labels_of(results, *NBAFL)
    assert lines(table)[2]["ε that holds"] == "∞"
    assert any(note.startswith("∞: nothing bounds an upload") for note in table.notes)


def test_the_label_of_a_run_that_has_none_is_refused(results):
    with pytest.raises(BadInput, match="labels: tenth: scheme: name: found 'dpfl_bnn'"):
        labels_of(results, "tenth")


@pytest.mark.parametrize("kind", DECLARED)
def test_a_table_of_which_nothing_was_run_says_so(results, kind, tmp_path):
    table = table_of(results.of(), kind)
    assert all(line["Run"].endswith("(not run)") for line in lines(table))
    assert any(note.startswith("Not run in this preset: ") for note in table.details)
    render.write_table_files(table, tmp_path / kind)
    assert pd.read_csv(tmp_path / f"{kind}.csv").empty


def test_what_else_was_measured_is_read_at_the_last_evaluated_round(tmp_path):
    rounds = np.arange(1, 21)
    facts = {
        "test_perplexity": np.where(rounds % 2 == 0, 30.0 - rounds, np.nan),
        "test_f1": np.where(rounds % 2 == 0, rounds / 40, np.nan),
    }
    made = [write_run(tmp_path, "text", seed, scheme="none", facts=facts) for seed in (0, 1)]
    results = load_results(collect(made, tmp_path / "collected"))
    declared = RunsTable(
        title="Text", columns=["perplexity", "f1", "auroc"], lines=[{"run": "text", "label": "LSTM"}]
    )
    found = runs_table(results, declared, "text").tidy.set_index("quantity")["value"]
    assert found["perplexity"] == 10 and found["f1"] == 0.5 and np.isnan(found["auroc"])
    drawn = quantity_by_seed(results, DrawnRun("text", "LSTM"), "perplexity")
    assert drawn[0].tolist() == drawn[1].tolist() == [30.0 - at for at in rounds[1::2]]
