"""Published beside reproduced, from the files that the workflow wrote."""

import re
import shutil
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from report.conftest import write_small

from fedpriv.cli.compare import published_tables
from fedpriv.cli.options import finite
from fedpriv.cli.table import layout
from fedpriv.errors import BadInput
from fedpriv.paper.claims import Claim
from fedpriv.paper.tables import AccuracyTable, Cell
from fedpriv.report import claims, numbers, tables
from fedpriv.report.collect import collect
from fedpriv.report.compared import compared_facts, papers, published_and_reproduced
from fedpriv.report.page import compared_cells
from fedpriv.report.results import load_results
from fedpriv.report.sample import Sample
from fedpriv.report.tables.accuracy import accuracy_table, cell_verdict
from fedpriv.report.tables.cells import ReadCell
from fedpriv.report.verdicts import CUT


@pytest.fixture
def paper(runs, declared, tmp_path):
    """Return the results folder of a rendered paper."""
    tables.write_table(load_results(runs), declared, tmp_path / "tables/table1", main=True)
    claim = {"id": "it", "place": "Table I", "text": "So it is.", "tables": ["table1"], "clients": [100]}
    claim |= {"check": "accuracy(dp) >= published(dp) - 0.005"}
    said = [Claim.model_validate(claim)]
    claims.write_claims(load_results(runs), said, {"table1": declared}, tmp_path / "claims")
    return tmp_path


def printed(results):
    return "\n".join(layout([part for paper in papers(results) for part in published_tables(paper)], 200))


def test_every_published_accuracy_gets_a_verdict(paper):
    found = published_and_reproduced(paper).set_index(["row", "column"])["verdict"].to_dict()
    assert found == {
        ("100", "baseline"): "reached",
        ("100", "dp"): "reached",
        ("100", "bdp"): "reached",
        ("1000", "baseline"): "not run",
        ("1000", "dp"): "not run",
        ("1000", "bdp"): "not run",
    }


def verdict(declared, published, values=(0.45, 0.5, 0.55), std=None, status="ok", unstable="", **facts):
    """Return the verdict on what is published, where these are our values by seed."""
    value, rounds = Sample(pd.Series(values)), Sample(pd.Series(1, range(len(values))))
    cell = Cell("n100_dp", published=published, published_std=std)
    facts = {"substitute_for": "", "cut": ""} | facts
    return cell_verdict(
        declared, ReadCell(declared.rows[0], "dp", cell, status, unstable, value, rounds, (), facts), None
    )


def test_a_published_accuracy_is_judged_as_the_claim_that_it_is_reached(declared):
    low, high = numbers.interval((0.45, 0.5, 0.55))[1:3]
    edges = low + 0.004, low + 0.006, high + 0.004, high + 0.006  # a published percent is rounded
    words = [verdict(declared, published) for published in edges]
    assert words == ["reached", "undecided", "undecided", "not reached"]
    assert verdict(declared, 0.3, [0.5]) == "undecided (one seed)"
    assert verdict(declared, 0.3, substitute_for="mnist") == "not judged: substitute data"
    assert verdict(declared, 0.3, cut="60 of 300 rounds") == "not judged: cut by the preset"
    assert verdict(declared, 0.3, unstable="unstable: rises") == "unstable: rises"
    assert verdict(declared, 0.3, [0.5, float("-inf")]) == "diverged"


def test_a_number_is_judged_by_the_digits_that_its_paper_prints(declared):
    data = declared.model_dump()
    data["rows"][0]["published"]["dp"] |= {"value": 0.453}
    tenths = AccuracyTable.model_validate(data)
    low = numbers.interval((0.45, 0.5, 0.55)).low
    assert verdict(declared, low + 0.004) == verdict(tenths, low + 0.0004) == "reached"
    assert verdict(tenths, low + 0.0006) == "undecided"


def test_a_published_spread_leaves_open_what_it_covers(declared, runs):
    far = numbers.interval((0.45, 0.5, 0.55)).high + 0.01
    assert verdict(declared, far) == verdict(declared, far, std=0.001) == "not reached"
    assert verdict(declared, far, std=0.05) == "undecided"
    data = declared.model_dump()
    data["rows"][0]["published"]["dp"] |= {"value": 0.95, "std": 0.4}
    table = accuracy_table(load_results(runs), AccuracyTable.model_validate(data), "table1")
    assert table.display["DP"].iloc[0] == "45.1 ± 0.1 (95 ± 40)" and "standard deviation" in table.notes[0]
    judged = table.tidy.query("source == 'published' and row == 100 and column == 'dp'").set_index("quantity")
    assert judged.loc["accuracy", "verdict"] == "undecided" and judged.loc["accuracy_std", "value"] == 0.4


def test_what_a_preset_has_cut_is_judged_in_no_form(declared, tmp_path):
    cuts = {"n100_none": "20 of 300 rounds", "n100_dp": "20 of 300 rounds"}
    results = load_results(collect(write_small(tmp_path), tmp_path, cuts))
    tables.write_table(results, declared, tmp_path / "tables/table1")
    claim = {"place": "Table I", "text": "So it is.", "tables": ["table1"], "clients": [100]}
    checks = {
        "theirs": "accuracy(dp) >= published(dp)",
        "epsilon": "spent(dp) <= 1",
        "ours_published": "accuracy(dp) >= published(dp)",
        "ours_gap": "accuracy(baseline) >= accuracy(dp)",
    }
    said = [Claim.model_validate(claim | {"id": name, "check": check}) for name, check in checks.items()]
    claims.write_claims(results, said, {"table1": declared}, tmp_path / "claims")
    here = published_and_reproduced(tmp_path).set_index("row").loc["100"]
    assert set(here["verdict"]) == {CUT} and set(here["cut"]) == {cuts["n100_dp"]}
    judged = dict(zip(checks, compared_facts(tmp_path)["claims"], strict=True))
    assert [judged[name]["verdict"] for name in checks] == [CUT, CUT, CUT, "reproduced"]
    paper: Any = SimpleNamespace(tables={"table1": declared})
    for form in ("tables/table1.md", "tables/table1.tex"):
        text = (tmp_path / form).read_text()
        assert "Cut by the preset, so that nothing published is judged: n100" in text.replace("\\_", "_")
    assert CUT in printed(tmp_path) and not compared_cells({tmp_path.name: paper}, tmp_path.parent)


def test_an_accuracy_of_another_network_is_held_against_its_own_baseline(runs, declared):
    data = declared.model_dump()
    for row in data["rows"]:
        row["own_baseline"] = True  # ours: 97 without privacy, DP 52 points and BDP 7 below
    table = accuracy_table(load_results(runs), AccuracyTable.model_validate(data), "table1")
    judged = table.tidy.query("source == 'published' and quantity == 'accuracy' and row == 100")
    assert list(judged["verdict"]) == ["another network", "reached", "reached"]
    data["rows"][0]["published"]["bdp"]["value"] = 0.95  # 2 below the published baseline of 97
    table = accuracy_table(load_results(runs), AccuracyTable.model_validate(data), "table1")
    judged = table.tidy.query("source == 'published' and quantity == 'accuracy' and row == 100")
    assert list(judged["verdict"]) == ["another network", "reached", "not reached"]
    assert "Another network than the paper's: it is held against its own baseline" in table.notes[0]


def test_rows_with_a_label_are_compared_by_it_beside_rows_with_clients(paper, joint_runs, joint):
    tables.write_table(load_results(joint_runs), joint, paper / "tables/table4")
    (paper / "tables/half.csv").write_text("run,first round\nnone,2\n")  # of a function of the paper's own
    found = published_and_reproduced(paper).set_index(["row", "column"])["verdict"].to_dict()
    assert found["100", "dp"] == "reached" and found["Photographs", "baseline"] == "reached"
    assert found["Photographs", "dp"] == "not reached" and found["Digits", "bdp"] == "not run"
    assert ("Photographs", "dpsgd") not in found
    out = printed(paper)
    assert all(words in out for words in ("Photographs", "1000", "97.1 ± 0.2", "So it is.", "reproduced"))


def test_a_folder_without_claims_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"found no claims\.csv"):
        papers(tmp_path)


def test_of_all_results_every_paper_is_compared_under_its_name(paper, tmp_path_factory):
    results = tmp_path_factory.mktemp("results")
    for name in ("first", "second"):
        shutil.copytree(paper, results / name)
    out = printed(results)
    assert all(f"{name}: claims" in out for name in ("first", "second"))
    assert finite(compared_facts(results)) == {
        name: finite(compared_facts(paper)) for name in ("first", "second")
    }


def test_a_paper_that_prints_no_accuracy_has_its_claims_compared(paper):
    shutil.rmtree(paper / "tables")
    out = printed(paper)
    assert "So it is." in out and "accuracy" not in out
    assert compared_facts(paper)["accuracies"] == []


LABELS = ("2", "007", "1e5", "NA", "True", "1,000", "=1+1", "-1", "nan", "'quoted", "300")


def test_a_label_is_read_back_as_it_was_written(runs, declared, paper):
    rows = [declared.rows[0].model_copy(update={"label": label}) for label in LABELS]
    tables.write_table(
        load_results(runs), declared.model_copy(update={"rows": tuple(rows)}), paper / "tables/table1"
    )
    found = published_and_reproduced(paper)
    assert found["row"].unique().tolist() == list(LABELS)
    assert set(found["verdict"]) == {"reached"}
    out = printed(paper)
    assert set(LABELS) <= {re.split(" {2,}", line.strip())[0] for line in out.splitlines()}


@pytest.mark.parametrize("content", [None, "", "a,b\n1,2\n", "{whole},many"])
def test_missing_or_foreign_claims_are_named(paper, content):
    whole = (paper / "claims.csv").read_text().rstrip().rpartition(",")[0]
    (paper / "claims.csv").unlink()
    if content is not None:
        (paper / "claims.csv").write_text(content.format(whole=whole))
    with pytest.raises(BadInput, match=r"claims\.csv"):
        compared_facts(paper)
