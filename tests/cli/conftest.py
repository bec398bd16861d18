import shutil

import pytest
from support.tiny import PAPER, contents, lay

from fedpriv.cli.account import account_run
from fedpriv.cli.run import train_run
from fedpriv.frozen import parse
from fedpriv.paper.paper import Paper
from fedpriv.report import claims, tables
from fedpriv.report.collect import collect
from fedpriv.report.results import load_results


@pytest.fixture(autouse=True)
def within(here):
    """Be in a folder with a preset of one tiny run."""


@pytest.fixture
def refused(fedpriv, here):
    """Run the program on bad input: exit code 2, one line, nothing written; return the line."""

    def call(*words):
        before = contents(here / "out")
        code, out, err = fedpriv(*words)
        assert (code, out, len(err)) == (2, [], 1), err
        assert contents(here / "out") == before
        assert err[0].startswith("fedpriv: ")
        return err[0]

    return call


@pytest.fixture(scope="module")
def accounted(tmp_path_factory):
    """The run directory of the tiny run with its ledger, made once."""
    folder = lay(tmp_path_factory.mktemp("once"))
    out = folder / "out"
    assert train_run(folder / "config/tiny.yaml", "tiny", "dp", 0, out, folder / "resources", {}) == "trained"
    assert account_run(out)
    return out


@pytest.fixture
def trained(accounted, here):
    """A copy of the run directory without its ledger."""
    out = shutil.copytree(accounted, here / "out")
    (out / "ledger.parquet").unlink()
    return out


@pytest.fixture
def results(accounted, here):
    """The rendered results of the tiny paper."""
    folder = here / "results/tiny/tiny"
    runs = load_results(collect([accounted], folder))
    paper = parse(Paper.model_validate, PAPER, "tiny")
    tables.write_table(runs, paper.tables["table1"], folder / "tables/table1")
    claims.write_claims(runs, paper.claims, paper.tables, folder / "claims")
    return folder
