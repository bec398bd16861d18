"""The page on the layout: a number of a table goes the way that it says."""

import re
import sys
from pathlib import Path

import fedpriv
from fedpriv.config.plan import make_plan
from fedpriv.paper.paper import read_yaml
from fedpriv.workflow import steps
from fedpriv.workflow.rules import read_plan

ROOT = Path(__file__).parents[2]


def test_a_number_of_a_table_passes_by_each_of_at_most_twelve_stops(tmp_path, monkeypatch):
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    way = page.partition("## Where a number of a table comes from")[2].partition("\n## ")[0]
    stops = {(name, file) for name, file in re.findall(r"\[`([\w.]+)`\]\(\.\./(src/[\w/]+\.py)\)", way)}
    assert 1 <= len(re.findall(r"^\d+\. ", way, re.MULTILINE)) <= 12 and len({file for _, file in stops}) >= 8
    monkeypatch.chdir(ROOT)
    passed = set()

    def look(frame, *_):
        passed.add((frame.f_code.co_qualname, frame.f_code.co_filename))

    sys.settrace(look)
    try:
        table_2_from_stored_runs(tmp_path)
    finally:
        sys.settrace(None)
    for name, file in stops:
        where = str(Path(fedpriv.__file__).parents[1] / Path(file).relative_to("src"))
        names = {known for known, place in passed if place == where}
        assert any(f"{known}.".startswith(f"{name}.") for known in names), f"{name} of {file}"


def table_2_from_stored_runs(root):
    """Make the cell for DP with 100 clients in Table II, of one seed, as the rules do."""
    config = read_yaml(Path("config/laptop.yaml")) | {
        "seeds": 1,
        "show": ["bdp2019/table2"],
        "only": ["*_n100_dp"],
    }
    plan = make_plan(config, Path("config/papers"))
    rows = read_plan(plan, root)
    (taken,) = rows.taken
    steps.take(plan, *taken.words, root=root)
    for step in (steps.collect, steps.tables):
        step(plan, "bdp2019", results=root / "results")
