"""The notebooks, executed as a reader would: on this interpreter, in a folder that is like the project's."""

import json
import math
from pathlib import Path

import nbformat
import pytest
from ipykernel.kernelspec import write_kernel_spec
from nbclient import NotebookClient

from fedpriv.account import plans

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture
def execute(tmp_path, monkeypatch):
    """Return what executes a notebook: the values of expressions at its end, by name, and all of it."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "results").mkdir()
    (tmp_path / "results/reference").symlink_to(ROOT / "results/reference")
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
        return json.loads(book.cells[-1].outputs[0].text), book

    return run


def test_a_finished_paper_can_be_explored_and_its_outputs_are_what_it_gives(execute):
    found, book = execute(
        "explore_a_paper",
        spent="last['epsilon'].groupby('counted as').mean().to_dict()",
        accuracies="len(compared)",
        claims="claims['claim'].to_list()",
    )
    for way, accountant in (("moments, sensitivity C", "moments"), ("pld, sensitivity C", "pld")):
        plan = {"sampling_rate": 0.3, "noise_multiplier": 7.6, "rounds": 300, "delta": 1e-3}
        assert found["spent"][way] == pytest.approx(plans.epsilon(**plan, accountant=accountant).epsilon)
    assert found["spent"]["bayesian, product, remove_mean"] > 0
    assert found["accuracies"] > 10 and len(found["claims"]) > 10
    kept = nbformat.read(ROOT / "notebooks/explore_a_paper.ipynb", as_version=4)
    # Tables and verdicts are those of the reference of the day, and need not be printed anew with it.
    for now, before in zip(book.cells, kept.cells, strict=False):
        if now.cell_type == "code" and "results" not in now.source:
            assert texts(now) == texts(before)


def texts(cell):
    """Return what a cell printed and gave, but for pictures."""
    return [one.get("text") or one.data.get("text/plain") for one in cell.outputs]


def test_a_scheme_can_be_added_trained_counted_and_its_row_shown(execute):
    rows = 'results.epsilons.query(\'accountant == "moments" and sensitivity == "C"\')'
    ranking = "pd.read_csv(folder / 'ranking.csv').set_index(['quantity', 'run'])"
    found, _ = execute(
        "add_a_scheme",
        epsilon=f"{rows}.groupby('run', observed=True)['epsilon'].max().to_dict()",
        bytes="results.rounds.groupby('run', observed=True)['upload_bytes'].mean().to_dict()",
        row=f"{ranking}['value'].loc['accuracy_last'].to_dict()",
        noise="[float(noise[chosen].std()) * share, told['noise_std']]",
    )
    plan = {"sampling_rate": 0.3, "noise_multiplier": 1.6, "rounds": 40, "delta": 1e-3}
    planned = plans.epsilon(**plan, accountant="moments").epsilon
    assert found["epsilon"] == pytest.approx({"without": math.inf, "whole": planned, "part": planned})
    assert found["bytes"]["part"] == pytest.approx(found["bytes"]["whole"] / 4, rel=0.02)
    assert found["noise"][0] == pytest.approx(found["noise"][1], rel=0.05)  # standard error 0.4 %
    # Ten classes; without privacy nine in ten are right.
    assert found["row"]["part"] > 0.6


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_as_it_was_executed_from_its_top(path):
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)]
    assert all(cell.metadata == {} for cell in book.cells)
    given = [one for cell in code for one in cell.outputs]
    assert len(given) > 3 and not [one for one in given if one.output_type == "error"]
    assert not [one for one in given if one.get("name") == "stderr"]


def test_every_notebook_is_executed_here():
    assert {path.stem for path in NOTEBOOKS} == {"explore_a_paper", "add_a_scheme"}
