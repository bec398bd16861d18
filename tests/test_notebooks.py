"""The notebooks, executed as a reader would: on this interpreter, in a folder that is like the project's."""

import json
import math
from pathlib import Path

import nbformat
import pytest
from ipykernel.kernelspec import write_kernel_spec
from nbclient import NotebookClient
from support.made_runs import write_run

from fedpriv.account import plans
from fedpriv.paper.paper import load_paper
from fedpriv.report import tables
from fedpriv.report.claims import write as claims
from fedpriv.report.collect import collect

ROOT = Path(__file__).parents[1]
PAPER = load_paper("bdp2019", ROOT / "config/papers")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture
def execute(tmp_path, monkeypatch):
    """Return a function that executes a notebook and gives the values of expressions at its end, by name."""
    (tmp_path / "notebooks").mkdir()
    write_kernel_spec(tmp_path / "jupyter/kernels/here")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def run(name, **wanted):
        book = nbformat.read(ROOT / f"notebooks/{name}.ipynb", as_version=4)
        values = ", ".join(f"{name!r}: {expression}" for name, expression in wanted.items())
        asked = f"import json\n\nimport pandas as pd\n\nprint(json.dumps({{{values}}}))"
        book.cells.append(nbformat.v4.new_code_cell(asked))
        where = {"metadata": {"path": str(tmp_path / "notebooks")}}
        NotebookClient(book, kernel_name="here", timeout=300, resources=where).execute()
        return json.loads(book.cells[-1].outputs[0].text)

    return run


@pytest.fixture
def demo(tmp_path):
    """A finished paper where the notebook looks for it: one setting of Table II, three seeds."""
    results = tmp_path / "results/demo/bdp2019"
    dirs = [
        write_run(results / "runs", run, seed, scheme=scheme, final=final)
        for run, scheme, final in (("iid_n100_none", "none", 0.97), ("iid_n100_dp", "client_dp", 0.9))
        for seed in range(3)
    ]
    runs = collect(dirs, results / "runs.parquet")
    (results / "tables").mkdir()
    tables.write(runs, PAPER.tables["table2"], results / "tables/table2")
    claims.write(runs, PAPER.model_dump(include={"tables", "claims"}), results / "claims")


def test_a_finished_paper_can_be_explored(execute, demo):
    found = execute(
        "explore_a_paper",
        accuracy="read.groupby('round')['test_accuracy'].mean().iloc[-1]",
        spent="last['epsilon'].groupby('counted as').mean().to_dict()",
        verdicts="compared.set_index(['row', 'column'])['verdict'].loc[100].to_dict()",
        claims="claims['id'].to_list()",
    )
    assert found["accuracy"] == pytest.approx(0.901)
    assert found["spent"] == {
        "moments, sensitivity C": 8.0,
        "pld, sensitivity C": 6.0,
        "moments, sensitivity 2C": 17.0,
        "bayesian, product, remove_mean": 2.0,
        "bayesian, hoelder, remove_mean": 9.0,
    }
    assert found["verdicts"] == {"baseline": "reached", "dp": "reached", "bdp": "not reached"}
    assert found["claims"] == [claim.id for claim in PAPER.claims]


def test_a_scheme_can_be_added_trained_counted_and_its_row_shown(execute):
    rows = 'pd.read_parquet(runs).query(\'accountant == "moments" and sensitivity == "C"\')'
    ranking = "pd.read_csv(folder / 'ranking.csv').set_index(['quantity', 'run'])"
    found = execute(
        "add_a_scheme",
        epsilon=f"{rows}.groupby('run', observed=True)['epsilon'].max().to_dict()",
        bytes=f"{rows}.groupby('run', observed=True)['upload_bytes'].mean().to_dict()",
        row=f"{ranking}['value'].loc['accuracy_last'].to_dict()",
        noise="[float(noise[chosen].std()) * share, told['noise_std']]",
    )
    planned = plans.epsilon(sampling_rate=0.3, noise_multiplier=1.6, rounds=40, delta=1e-3).epsilon
    assert found["epsilon"] == pytest.approx({"without": math.inf, "whole": planned, "part": planned})
    assert found["bytes"]["part"] == pytest.approx(found["bytes"]["whole"] / 4, rel=0.02)
    assert found["noise"][0] == pytest.approx(found["noise"][1], rel=0.05)  # standard error 0.4 %
    # Ten classes; without privacy nine in ten are right.
    assert found["row"]["part"] > 0.6


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_what_it_computed(path):
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    for cell in book.cells:
        assert cell.metadata == {}
        assert cell.cell_type == "markdown" or (cell.outputs, cell.execution_count) == ([], None)


def test_every_notebook_is_executed_here():
    assert {path.stem for path in NOTEBOOKS} == {"explore_a_paper", "add_a_scheme"}
