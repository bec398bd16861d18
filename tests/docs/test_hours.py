"""The table of docs/stored-runs.md: what the stored runs took, held against runs whose times are known."""

from pathlib import Path

import pandas as pd
import pytest

from fedpriv.config.plan import load_preset
from fedpriv.docs import hours
from fedpriv.files import stored
from fedpriv.files.summary import stored_path

ROOT = Path(__file__).parents[2]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository with three stored runs of 300 rounds, one of them of a config that has changed."""
    (tmp_path / "config").symlink_to(ROOT / "config")
    run = load_preset(ROOT / "config" / "paper.yaml").runs["bdp2019"]["iid_n100_dp"]
    told = {"preset": "paper", "paper": "bdp2019", "run": "iid_n100_dp"}
    for seed, seconds, known in ((0, 1.0, True), (1, 3.0, True), (2, 100.0, False)):
        identity = run.identity("iid_n100_dp", seed) if known else "0" * 16
        summary = {**told, "seed": seed, "identity": identity, "environment": {"hardware": "an abacus"}}
        trace = pd.DataFrame({"round": range(1, 301), "seconds": [seconds] * 300})
        path = stored_path(tmp_path / "results/reference", "bdp2019", "iid_n100_dp", seed, identity)
        stored.write(path, stored.Stored(summary, trace, {}))
    return tmp_path


def test_a_line_tells_what_runs_of_a_kind_took_and_how_fast_they_went(root: Path) -> None:
    # 37 of 100 clients work in a round, with 600 examples each: 30 sampled ones, 7 of 10 who are followed.
    rate = 2 * 300 * 37 * 600 / (300 * (1 + 3))
    (line,) = (line for line in hours.table(root).splitlines() if line.startswith("| bdp2019 |"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:4] == ["bdp2019", "mnist", "100", "2"]
    assert cells[4:] == ["20 min", "10 min", f"{rate:,.0f}", "an abacus"]
