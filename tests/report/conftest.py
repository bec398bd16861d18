"""A small paper: two settings declared, one of them run."""

from pathlib import Path

import pytest
from support.made_runs import write_run

from fedpriv.paper.tables import AccuracyTable
from fedpriv.report.collect import collect
from fedpriv.report.results import Results, load_results


@pytest.fixture
def declared() -> AccuracyTable:
    """Return a table of two settings; only the first was run. DP's budget ends at round 10, BDP's never."""
    columns = {
        "dp": {"label": "DP", "accountant": "moments C"},
        "bdp": {"label": "BDP", "accountant": "bayesian product remove_mean"},
    }
    published = {
        "dp": {"value": 0.45, "epsilon": 6.0, "delta": 1e-3},
        "bdp": {"value": 0.88, "epsilon": 4.0, "delta": 1e-3},
    }
    rows = [
        {
            "clients": clients,
            "baseline": {"run": f"n{clients}_none", "value": 0.97},
            "run": f"n{clients}_dp",
            "published": published,
        }
        for clients in (100, 1000)
    ]
    return AccuracyTable.model_validate(
        {"title": "A table", "place": "Table I", "columns": columns, "rows": rows}
    )


def write_small(directory: Path) -> list[Path]:
    """Write three seeds of a baseline and of a private run."""
    return [
        write_run(directory / "runs", run, seed, scheme=scheme, final=final)
        for run, scheme, final in (("n100_none", "none", 0.97), ("n100_dp", "client_dp", 0.9))
        for seed in range(3)
    ]


@pytest.fixture
def directories(tmp_path: Path) -> list[Path]:
    """Return the folders of the small paper's runs, to be damaged."""
    return write_small(tmp_path)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the collected runs of the small paper, to be read."""
    folder = tmp_path_factory.mktemp("small")
    return collect(write_small(folder), folder)


@pytest.fixture(scope="session")
def results(runs: Path) -> Results:
    return load_results(runs)


JOINT_RUNS = {
    # The ε of DP are 1.6 and 0.2 at the end: 1 is spent after round 7, and 0.1 after round 5.
    "photos_none": {"scheme": "none", "final": 0.7},
    "photos_dp": {"scheme": "joint", "final": 0.4},
    "photos_dpsgd": {"scheme": "joint", "final": 0.6, "scale": 0.5, "per_example_clip": True},
    "photos_bdp": {"scheme": "joint", "final": 0.65},
}


@pytest.fixture
def joint() -> AccuracyTable:
    """Return a table of two settings at both levels; only the photographs were run."""
    dp = {"client": "sum moments C", "instance": "sequential moments C"}
    bdp = {unit: f"{words} bayesian product remove_sum" for unit, words in WORDS_OF_UNITS.items()}
    columns = {
        "dp": {"label": "DP, as the paper", "accountants": dp},
        "dpsgd": {"label": "DP-SGD", "accountants": dp},
        "bdp": {"label": "BDP", "accountants": bdp},
    }
    rows = [
        {
            "label": label,
            "clients": 100,
            "baseline": {"run": f"{name}_none", "value": 0.7},
            "runs": {column: f"{name}_{column}" for column in columns},
            "published": {"dp": 0.42, "bdp": 0.64},
            "budgets": {
                "client": {"epsilon": 1, "delta": 1e-3},
                "instance": {"epsilon": 0.1, "delta": 1e-5},
            },
        }
        for label, name in (("Photographs", "photos"), ("Digits", "digits"))
    ]
    said = {"title": "Both levels", "place": "Table IV", "heading": "Dataset"}
    return AccuracyTable.model_validate(said | {"columns": columns, "rows": rows})


WORDS_OF_UNITS = {"client": "sum", "instance": "sequential"}


@pytest.fixture(scope="session")
def joint_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the collected runs of the photographs, three seeds each."""
    folder = tmp_path_factory.mktemp("joint")
    directories = [
        write_run(folder, run, seed, **made, data="photos", note="Features of a network.", copies=11)
        for run, made in JOINT_RUNS.items()
        for seed in range(3)
    ]
    return collect(directories, folder)


@pytest.fixture(scope="session")
def joint_results(joint_runs: Path) -> Results:
    return load_results(joint_runs)
