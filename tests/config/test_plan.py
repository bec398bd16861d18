"""Presets and papers become runs; what is misspelt is refused in one line."""

import copy
from pathlib import Path
from typing import Literal

import pytest
import yaml
from support.tiny_paper import tiny_paper

from fedpriv.account import moments
from fedpriv.config.plan import load_preset, make_plan, partition_id
from fedpriv.errors import BadInput
from fedpriv.models import MODELS
from fedpriv.models.nets import Cnn
from fedpriv.paper.tables import accuracy_tables

CONFIG = Path(__file__).parents[2] / "config"
PAPER = tiny_paper(
    "small",
    {
        "plain": {"scheme": "none"},
        "private": {"scheme": {"name": "client_dp", "clip_l2": 1.0, "noise_multiplier": 1.0}},
    },
    defaults={
        "dataset": "mnist",
        "model": "cnn",
        "partition": {"law": "iid", "clients": 4, "examples": 10},
        "cohort": {"law": "poisson", "rate": 0.5},
        "rounds": 2,
    },
    figures={},
    claims=[
        {"id": "accuracy", "place": "section 1", "text": "It is accurate.", "tables": ["table1"]}
        | {"check": "accuracy(dp) >= published(dp)"}
    ],
)
PRESET = {"preset": "test", "papers": ["small"], "seeds": 2}


@pytest.fixture(scope="module")
def paper():
    return load_preset(CONFIG / "paper.yaml")


@pytest.fixture
def plan_of(tmp_path):
    """Return a function that plans a preset over the small paper, both with some keys changed."""

    def build(preset=None, **changes):
        (tmp_path / "small").mkdir(exist_ok=True)
        (tmp_path / "small/paper.yaml").write_text(yaml.safe_dump(copy.deepcopy(PAPER) | changes))
        return make_plan(PRESET | (preset or {}), tmp_path)

    return build


def changed(path, value):
    """Return the top-level key of PAPER in which `path` is set to `value`, as a change for `plan_of`."""
    paper = copy.deepcopy(PAPER)
    place = paper
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return {path[0]: paper[path[0]]}


def test_the_paper_preset_runs_every_run_as_declared(paper):
    assert not paper.preset.patches and not paper.preset.substitutes
    assert {name: set(runs) for name, runs in paper.runs.items()} == {
        name: set(declared.runs) for name, declared in paper.papers.items()
    }


@pytest.mark.parametrize(("clients", "epsilon"), [(100, 8.31), (1000, 3.16), (10000, 1.003)])
def test_the_noise_of_the_paper_spends_the_published_dp_budgets(paper, clients, epsilon):
    run = paper.runs["bdp2019"][f"noniid_n{clients}_dp"]
    rate = run.cohort.expected(clients) / clients
    spent = moments.epsilon(
        sampling_rate=rate,
        noise_multiplier=run.scheme.noise_multiplier,
        rounds=run.rounds,
        delta=run.account.delta,
    )
    assert spent == pytest.approx(epsilon, abs=0.006)


@pytest.mark.parametrize(("clients", "rounds"), [(100, 11), (1000, 55), (10000, 423)])
def test_the_noise_of_global_dp_ends_near_the_published_rounds(paper, clients, rounds):
    run = paper.runs["global_dp"][f"median_poisson_n{clients}"]
    assert run.scheme.horizon(run.cohort, clients, run.rounds) == rounds
    assert run.scheme.budget.delta == run.account.delta


def test_every_row_of_a_table_has_runs_with_its_clients_and_deltas(paper):
    for name_of_paper, declared in paper.papers.items():
        runs = paper.runs[name_of_paper]
        for table in accuracy_tables(declared.tables).values():
            cells = [(row, table.cell(row, name)) for row in table.rows for name in table.columns]
            for row, cell in cells:
                private = runs[cell.run]
                assert private.partition.clients == row.clients
                if row.baseline:
                    ours, theirs = private.partition, runs[row.baseline.run].partition
                    # Where copies are is a reading of private training; without privacy it is nothing.
                    assert ours.model_dump() | {"deal": ""} == theirs.model_dump() | {"deal": ""}
                deltas = {"client": private.account.delta, "instance": private.account.instance_delta}
                deltas[""] = private.account.delta
                assert all(budget.delta == deltas[budget.unit] for budget in cell.within)


def test_a_patch_lies_over_a_run_that_lies_over_its_parts_that_lie_over_the_defaults(plan_of):
    parts = {"slow": {"rounds": 3, "validation": 4, "evaluate_every": 5, "scheme": {"name": "none"}}}
    declared = {
        "plain": {"uses": ["slow"], "validation": 6, "evaluate_every": 7},
        "private": PAPER["runs"]["private"],
    }
    plan = plan_of({"patches": {"plain": {"evaluate_every": 8}}}, parts=parts, runs=declared)
    run = plan.runs["small"]["plain"]
    assert (run.dataset, run.rounds, run.validation, run.evaluate_every) == ("mnist", 3, 6, 8)


def test_a_substitute_takes_the_place_of_the_dataset_and_is_named_in_the_labels(plan_of):
    plan = plan_of({"substitutes": {"mnist": "digits"}})
    assert plan.datasets() == ["digits"]
    assert plan.labels("small", "plain") == {
        "paper": "small",
        "preset": "test",
        "data": {"substitute_for": "mnist"},
        "account": plan.runs["small"]["plain"].account.model_dump(),
    }


@pytest.mark.parametrize(
    "patch",
    [
        {"partition": {"clients": 5}},
        {"partition": {"examples": 11}},
        {"partition": {"law": "shards", "clients": 4}},
        {"validation": 100},
        {"dataset": "digits"},
    ],
)
def test_runs_share_a_partition_unless_they_differ_in_what_is_dealt(plan_of, patch):
    runs = plan_of().runs["small"]
    assert partition_id(runs["plain"]) == partition_id(runs["private"])
    assert partition_id(runs["plain"]).startswith("mnist-iid-n4-")
    runs = plan_of({"patches": {"private": patch}}).runs["small"]
    assert partition_id(runs["plain"]) != partition_id(runs["private"])


@pytest.mark.parametrize("glob", ["private", "small/private", "small/pri*", "*/private"])
def test_a_glob_means_runs_of_any_paper_or_of_one(plan_of, glob):
    runs = plan_of({"patches": {"*": {"rounds": 2}, glob: {"rounds": 7}}}).runs["small"]  # in their order
    assert {name: run.rounds for name, run in runs.items()} == {"plain": 2, "private": 7}


def test_a_law_that_deals_by_writer_needs_data_with_writers(plan_of):
    natural = {"partition": {"law": "natural", "clients": 4, "examples": None}}
    with pytest.raises(BadInput, match=r"partition\.law: found natural with mnist, allowed: .*femnist"):
        plan_of({"patches": {"*": natural}})


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        ({"seed": 1}, ("seed", "unknown key")),
        ({"papers": ["other"]}, ("papers", "other", "allowed: ", "small")),
        ({"only": ["*_n100_*"]}, ("only", "*_n100_*", "small/plain, small/private")),
        ({"patches": {"nosuch": {}}}, ("patches", "nosuch", "small/plain, small/private")),
        ({"patches": {"*": {"rounds": -1}}}, ("small.runs.plain", "rounds", "-1")),
        ({"patches": {"*": {"scheme": {"name": "magic"}}}}, ("scheme", "magic", "client_dp")),
        ({"substitutes": {"mnist": "letters"}}, ("dataset", "letters", "digits")),
        # What could not be trained, or not be accounted.
        (
            {"patches": {"*": {"cohort": {"law": "fixed", "size": 5}}}},
            ("cohort.size: found 5", "at most 4"),
        ),
        (
            {"patches": {"*": {"cohort": {"rate": 9e-10}}}},
            ("cohort.rate: found 9e-10", "at least 1e-09"),
        ),
        ({"patches": {"*": {"model": {"name": "cnn", "widths": [1] * 17}}}}, ("model.widths", "16")),
        (
            {"patches": {"*": {"probe": {"panel": 10**5}}}},
            ("probe.panel: found 100000", "at most 10,000"),
        ),
        ({"patches": {"*": {"photos": {"copies": 10**9}}}}, ("photos.copies", "10000")),
    ],
)
def test_a_wrong_preset_is_refused_in_one_line_naming_the_key(plan_of, preset, words):
    with pytest.raises(BadInput) as error:
        plan_of(preset)
    assert all(word in str(error.value) for word in words)
    assert "\n" not in str(error.value)


ROW = ("tables", "table1", "rows", 0)
CLAIM = ("claims", 0)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ((*ROW, "run"), "privat", ("tables.table1", "privat", "plain, private")),
        ((*ROW, "published"), {}, ("published", "nothing", "dp")),
        (("tables", "table1", "kind"), "pie", ("pie", "accuracy")),
        (("tables", "table1", "columns", "dp", "accountant"), "moments 3C", ("3C", "moments 3C")),
        (("tables", "table1", "columns", "dp", "accountant"), "bayesian product", ("bayesian", "distance")),
        ((*CLAIM, "tables"), ["table2"], ("claims.accuracy", "table2", "table1")),
        ((*CLAIM, "clients"), [1000], ("claims.accuracy", "clients", "1000", "100")),
        ((*CLAIM, "check"), "accuracy(bdp) >= 0", ("claims.accuracy", "column", "bdp", "dp")),
        ((*CLAIM, "check"), "0 <= magic(dp)", ("paper.yaml", "accuracy: check", "magic")),
        (("paper",), "big", ("paper", "big", "small")),
    ],
)
def test_a_wrong_paper_is_refused_in_one_line_naming_the_place(plan_of, path, value, words):
    with pytest.raises(BadInput) as error:
        plan_of(**changed(path, value))
    assert all(word in str(error.value) for word in ("small", *words))
    assert "\n" not in str(error.value)


class Taught(Cnn):
    """A network that may learn from public images alone."""

    name: Literal["taught"] = "taught"
    learns_from_public = True


def test_only_a_run_on_public_data_alone_is_said_to_cost_nothing(plan_of, monkeypatch):
    table = copy.deepcopy(PAPER["tables"]["table1"])
    table["rows"][0] = {"clients": 4, "label": "public data alone", "free": True, "run": "private"}
    with pytest.raises(
        BadInput, match=r"tables\.table1\.rows\.free of public data alone: found true with run private"
    ):
        plan_of(tables={"table1": table}, claims=[])
    public = {"learn_from": "public", "model": {"name": "taught"}, "dataset": "digits", "scheme": "none"}
    monkeypatch.setitem(MODELS, "taught", Taught)
    plan = plan_of(tables={"table1": table}, claims=[], runs={"private": public})
    assert plan.runs["small"]["private"].learn_from == "public"


@pytest.mark.parametrize(
    ("patch", "left_out"),
    [
        ({"rounds": 1}, "1 of 2 rounds"),
        ({"partition": {"clients": 3}}, "3 of 4 clients, 1.5 of 2 clients a round"),
        ({"partition": {"examples": 5}}, "5 of 10 examples a client"),
        ({"cohort": {"law": "fixed", "size": 1}}, "1 of 2 clients a round"),
        ({"rounds": 3, "partition": {"clients": 40}}, ""),
        ({"scheme": {"noise_multiplier": 2.0}}, ""),
    ],
)
def test_a_plan_knows_what_its_preset_leaves_out_of_a_run(plan_of, patch, left_out):
    planned = plan_of({"patches": {"private": patch}}).planned["small"]
    assert (planned["private"].cut, planned["plain"].cut) == (left_out, "")
