"""An ε by our accountants is the one that other frameworks count of their own training."""

import json
import re
import subprocess
import sys
from collections import Counter
from importlib import util
from pathlib import Path

import dp_accounting as dp
import pandas as pd
import pytest
from support.library import rdp_accountant

from fedpriv.account import ledger, statements

FOLDER = Path(__file__).parents[2] / "examples/other-frameworks"
THEIRS = json.loads((FOLDER / "theirs.json").read_text())


def added_or_removed(trace: pd.DataFrame, delta: float) -> dict[str, float]:
    """Return what an example or a client that is added or removed costs, by accountant."""
    counted = statements(ledger(trace, delta))
    return {one.accountant: one.epsilon for one in counted if one.relation == "add_remove"}


def as_flower_counts(trace: pd.DataFrame) -> pd.DataFrame:
    return trace.assign(sampling_law="full", sampling_rate=1.0)


def read(name: str) -> pd.DataFrame:
    trace = pd.read_csv(FOLDER / name)
    return as_flower_counts(trace) if name == "flower.csv" else trace


@pytest.mark.parametrize(
    ("name", "theirs", "ours"),
    [("flower.csv", "rdp", "rdp"), ("opacus.csv", "rdp", "rdp"), ("opacus.csv", "prv", "pld")],
)
def test_a_trace_costs_what_its_framework_said(name: str, theirs: str, ours: str) -> None:
    said = THEIRS[name]
    assert added_or_removed(read(name), said["delta"])[ours] == pytest.approx(said[theirs], rel=0.01)


@pytest.mark.parametrize("name", THEIRS)
def test_what_the_frameworks_said_is_what_the_library_beneath_says_of_these_rows(name: str) -> None:
    accountant = rdp_accountant()
    for row, rows in Counter(read(name).itertuples(index=False)).items():
        facts = row._asdict()
        noise = facts.get("noise_multiplier") or facts["noise_std"] / facts["clip_l2"]
        once = dp.PoissonSampledDpEvent(facts["sampling_rate"], dp.GaussianDpEvent(noise))
        accountant.compose(once, rows * facts.get("releases", 1))
    said = THEIRS[name]
    assert accountant.get_epsilon(said["delta"]) == pytest.approx(said["rdp"], rel=0.01)


def test_the_example_prints_every_statement() -> None:
    trace = FOLDER / "opacus.csv"
    command = [sys.executable, str(FOLDER / "account.py"), str(trace)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [str(one) for one in statements(ledger(pd.read_csv(trace), 1e-5))]


def test_the_numbers_of_the_readme_are_these() -> None:
    page = (FOLDER / "README.md").read_text()
    drawn = statements(ledger(pd.read_csv(FOLDER / "flower.csv"), 1e-5))
    (replaced,) = (one.epsilon for one in drawn if one.accountant == "pld")
    opacus = added_or_removed(read("opacus.csv"), 1e-5)
    ours = [f"`rdp` {opacus['rdp']:.3f} |\n", f"`pld` {opacus['pld']:.3f} |\n", f"`pld` {replaced:.3f} |\n"]
    theirs = [
        f"| `{one}` {epsilon:.3f} |" for said in THEIRS.values() for one, epsilon in [*said.items()][2:]
    ]
    assert all(number in page for number in [*ours, *theirs])


def blocks() -> dict[str, str]:
    """Return the block of each framework of the page."""
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    return {
        title: re.search(r"```python\n(.*?)```", page[page.index(f"**{title}.**") :], re.DOTALL).group(1)
        for title in re.findall(r"^\*\*(.+?)\.\*\*", page, re.MULTILINE)
    }


@pytest.mark.parametrize("framework", blocks())
def test_the_block_of_a_framework_runs_as_pasted(framework: str, capsys: pytest.CaptureFixture[str]) -> None:
    if framework == "Opacus":
        pytest.importorskip("opacus", reason="Opacus is not installed")
    exec(compile(blocks()[framework], framework, "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert any(line.startswith("ε = ") and "accountant rdp" in line for line in printed)


@pytest.mark.parametrize(("theirs", "ours"), [("rdp", "rdp"), ("prv", "pld")])
def test_opacus_counts_the_same_of_a_training_of_today(theirs: str, ours: str) -> None:
    pytest.importorskip("opacus", reason="Opacus is not installed")
    spec = util.spec_from_file_location("train_opacus", FOLDER / "train_opacus.py")
    assert spec and spec.loader
    example = util.module_from_spec(spec)
    spec.loader.exec_module(example)
    rows, epsilon = example.train(theirs)
    found = added_or_removed(pd.DataFrame(rows), example.DELTA)
    assert found[ours] == pytest.approx(epsilon, rel=0.01)
