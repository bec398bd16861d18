"""What there is, and what is behind a number."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.tiny import patch

from fedpriv import __version__
from fedpriv.cli.results import outcomes, published_cells, table_cells
from fedpriv.frozen import RESULTS_VERSION
from fedpriv.report.compared import accuracies_text
from fedpriv.report.verdicts import counts_text
from fedpriv.schemes import SCHEMES
from fedpriv.store.machine import code
from fedpriv.workflow import archive

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_version_is_that_of_the_package_and_of_its_results(fedpriv):
    assert fedpriv("--version") == (0, [f"fedpriv {code()} (results version {RESULTS_VERSION})"], [])
    assert code().startswith(__version__)


def test_everything_is_listed_with_what_is_stored(fedpriv, here, accounted):
    code, out, _ = fedpriv("list", "--json")
    found = json.loads("".join(out))
    assert code == 0 and list(found) == ["papers", "runs", "tables", "datasets", "schemes"]
    (paper,) = (one for one in found["papers"] if one["paper"] == "tiny")  # the others are of packages
    assert paper | {"runs": 1, "stored": 0} == paper
    assert [one for one in found["runs"] if one["paper"] == "tiny"] == [
        {"paper": "tiny", "run": "dp", "dataset": "digits", "scheme": "client_dp", "seeds stored": []}
    ]
    assert {one["scheme"] for one in found["schemes"]} == set(SCHEMES)
    (here / "results/tiny/tiny/runs/dp").mkdir(parents=True)
    (here / "results/tiny/tiny/runs/dp/seed0").symlink_to(accounted)
    archive.add(here / "results/tiny", here / "config/tiny.yaml", here / "results/reference")
    _, out, _ = fedpriv("list", "runs", "--paper", "tiny", "--json")
    assert json.loads("".join(out))["runs"][0]["seeds stored"] == [0]


def test_a_run_of_a_preset_is_shown_with_each_key_and_where_its_trace_is(fedpriv, here, accounted):
    shown = ("show", "config/tiny.yaml", "TINY", "dp")
    code, out, _ = fedpriv(*shown, "--json")
    found = json.loads("".join(out))
    assert code == 0
    assert found["keys"]["scheme.clip_l2"] == "0.5" and found["keys"]["server.momentum"] == "0.0"
    assert [one["trace"] for one in found["seeds"].values()] == [None] * 5
    (here / "results/tiny/tiny/runs/dp").mkdir(parents=True)
    (here / "results/tiny/tiny/runs/dp/seed0").symlink_to(accounted)
    _, out, _ = fedpriv(*shown)
    assert any("results/tiny/tiny/runs/dp/seed0/trace.parquet" in line for line in out)
    patch(here, rounds=3)
    _, out, _ = fedpriv(*shown, "--json")
    found = json.loads("".join(out))
    assert found["keys"]["rounds"] == "3"
    assert found["seeds"]["0"]["trace"] is None  # of another config


def test_what_the_readme_makes_is_a_target():
    targets = set(re.findall(r"^(\w[\w -]*):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    made = re.findall(r"^    make (\w+)", README, re.MULTILINE) + re.findall(r"`make (\w[\w-]*)", README)
    assert made and set(made) <= targets


@pytest.fixture
def at_home(monkeypatch):
    monkeypatch.chdir(ROOT)


def test_a_cell_has_each_seed_at_the_round_that_the_table_reads_off(fedpriv, at_home):
    code, out, _ = fedpriv("show", "bdp2019", "table2", "100", "DP", "--json")
    found = json.loads("".join(out))
    (cell,) = found["cells"]
    read = [one["accuracy"] for one in found["seeds"]["DP"]]
    assert code == 0 and len(read) == cell["seeds"] and cell["published"] == 0.86
    assert sum(read) / len(read) == pytest.approx(cell["value"])
    (spent,) = cell["epsilons"]
    assert (spent["accountant"], spent["unit"], spent["delta"]) == ("moments", "client", 1e-3)
    assert [one["epsilon"] for one in found["seeds"]["DP"]] == [pytest.approx(spent["epsilon"])] * len(read)


def test_every_cell_has_the_texts_of_its_table(at_home):
    for path in sorted(Path("results/reference").glob("*/*/tables/*.json")):
        for cell in table_cells(path):
            if cell["value"] is None or not cell["printed"] or "unstable" in cell["status"]:
                continue
            accuracy = next(iter(cell["printed"].values())).split(" ")[0]
            percent = (
                100 * cell["value"] if cell["quantity"] in ("accuracy", "f1", "auroc") else cell["value"]
            )
            assert float(accuracy) == pytest.approx(percent, abs=0.051), (path, cell)
            assert cell["row"].replace(",", "") in cell["label"].replace(",", "")


def test_a_row_is_one_table_with_the_names_that_the_table_has(fedpriv, at_home, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = fedpriv("show", "bdp2019", "Table", "II", "100")
    assert len(out) < 20 and any(
        re.match(r"DP, small norm, PLD +90\.0 ± 0\.5 +2\.00 +300", line) for line in out
    )


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("bdp2091",), "Did you mean bdp2019?"),
        (("bdp2019", "tabel2"), "Did you mean table2"),
        (("bdp2019", "table2", "100", "dpp"), "Did you mean DP"),
        (("bdp2019", "figure2", "100"), "figure2 is a figure, which has no rows."),
        (("Table", "II"), "'Table' of which paper? Name the paper first: fedpriv show PAPER Table"),
        (("config/laptop.yaml", "bdp2019", "iid_n100_dq"), "No run 'iid_n100_dq'. Did you mean iid_n100_"),
    ],
    ids=str,
)
def test_what_is_misspelt_is_answered_with_the_nearest_and_what_lists_all(words, line, fedpriv, at_home):
    code, out, err = fedpriv("show", *words)
    assert (code, out, len(err)) == (2, [], 1) and line in err[0]


def test_a_list_that_there_is_not_and_a_folder_that_there_is_not_are_answered_in_a_sentence(fedpriv, at_home):
    _, _, (line,) = fedpriv("list", "claims")
    assert line.endswith("not 'claims'. Claims are listed by: fedpriv compare PAPER.")
    _, _, (line,) = fedpriv("compare", "my/asis", "my/faster")
    assert line.endswith("No folder 'my/asis'. A run is trained into it by: fedpriv run ... --out my/asis")


def test_a_listed_run_has_its_accuracy_and_what_it_cost_by_which_accountant(fedpriv, at_home):
    _, out, _ = fedpriv("list", "runs", "--paper", "bdp2019", "--json")
    runs = {one["run"]: one for one in json.loads("".join(out))["runs"]}
    run = runs["iid_n100_dp"]
    assert (run["accuracy (%)"], run["ε"]) == ("86.9 ± 1.3", "7.62† moments")
    assert runs["iid_n100_none"]["ε"] == ""


@pytest.mark.parametrize("paper", ["laptop/bdp2019", "laptop/nbafl", "laptop/global_dp", "paper/global_dp"])
def test_show_and_the_report_count_the_published_numbers_alike(paper):
    folder = ROOT / "results/reference" / paper
    counts = outcomes(folder, published_cells(folder)).get("published numbers", {})
    assert not any("unverified" in verdict for verdict in counts)
    text = f"{sum(counts.values())} published numbers: {counts_text(counts)}." if counts else ""
    assert text == accuracies_text([folder.name], folder.parent)


@pytest.mark.parametrize("preset", ["laptop", "paper"])  # laptop runs one row of three
def test_a_number_that_nobody_has_verified_is_not_counted_whether_its_row_was_run_or_not(preset):
    folder = ROOT / "results/reference" / preset / "global_dp"
    assert "published numbers" not in outcomes(folder, published_cells(folder))


@pytest.mark.parametrize(
    "words", [("show", "bdp2019", "table2", "100", "dp"), ("compare", "bdp2019"), ("show", "bdp2019")]
)
def test_what_is_stored_of_a_paper_is_shown_without_anything_heavy(words, at_home):
    code = f"import sys; from fedpriv.cli.app import main; main({words!r}); print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"torch", "pandas", "numpy", "pyarrow", "scipy", "yaml", "fedpriv.account"}
    assert not heavy & set(said.stdout.splitlines()[-1].split())


def test_a_paper_a_table_a_row_and_a_figure_are_shown(fedpriv, at_home):
    for words, seen in {
        ("bdp2019",): "Table II. Accuracy and privacy on MNIST, i.i.d.",
        ("bdp2019", "table2"): "results/reference/paper/bdp2019/tables/table2_seeds.csv",
        ("bdp2019", "table2", "100"): "7.62†",  # tables and cells mark what is no guarantee
        ("bdp2019", "table2", "100", "bdp"): "ε = 1.98‡ at δ = 0.001 (unit client, relation add_remove",
        ("bdp2019", "figure2"): "results/reference/paper/bdp2019/figures/figure2.png",
    }.items():
        code, out, err = fedpriv("show", *words)
        assert (code, err) == (0, []) and any(seen in line for line in out)
