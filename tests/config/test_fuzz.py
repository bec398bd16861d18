"""Every key of a run, a preset and a paper, given what nobody should write: one line, or a plan."""

import copy
import datetime
from collections.abc import Iterator
from functools import reduce
from itertools import product
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
from support.tiny_paper import tiny_paper

from fedpriv.config import plan
from fedpriv.config.files import report_files
from fedpriv.config.jobs import run_rows, training_jobs
from fedpriv.config.plan import arrays_id, partition_id
from fedpriv.config.run import Run
from fedpriv.config.sizes import Sizes, Took
from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.local.work import Speed
from fedpriv.mechanisms.sampling import COHORTS
from fedpriv.models import MODELS
from fedpriv.paper import paper
from fedpriv.paper.paper import Key

CONFIG = Path(__file__).parents[2] / "config"
CIRCLE = []
CIRCLE.append(CIRCLE)
NASTY = [
    *(float("inf"), float("-inf"), float("nan"), 1e308, -1e308, 1e-308, 5e-324, -0.0, 1.5),
    *(-1, 0, 2**31, 2**63, 10**400, -(10**400)),
    *("", "x" * 500, "../..", "a\nb", "inf", "*", "{x}"),
    *({}, [], {"a": [{"b": None}]}, [[[]], [None]], CIRCLE, {1: 2, None: 3}),
    *(True, False, None, datetime.date(2000, 1, 1), datetime.datetime(2000, 1, 1), b"\xff", {1}),
]
NO_NUMBERS = [*NASTY[:3], True]  # not finite, or yes


def paths(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to everything below `node`."""
    if at:
        yield at
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inner:
        yield from paths(value, (*at, key))


def put(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return `node` with another value at `path`."""
    if not path:
        return value
    key, *rest = path
    if isinstance(node, dict):
        return node | {key: put(node[key], tuple(rest), value)}
    return [put(one, tuple(rest), value) if key == place else one for place, one in enumerate(node)]


def line(act, *given):
    """Return the lines that refuse this, or nothing if it is done; no other exception is let through."""
    try:
        act(*given)
    except BadInput as error:
        said = str(error).splitlines()
    else:
        return ""
    assert all(one and "\n" not in one for one in said)
    return "\n".join(said)


def parsed(cls, whole):
    """Return the config value that the content of a file is."""
    return parse(cls.model_validate, whole, "file")


def use(whole):
    """Do with a run what is done before it is trained."""
    run = parsed(Run, whole)
    run.identity("name", 0)
    arrays_id(run)
    partition_id(run)


def kinds():
    """Return runs as plain data, of every kind that a part of a run may be of, and all shipped schemes."""
    shipped = plan.load_preset(CONFIG / "paper.yaml").all_runs()
    runs = {run.scheme.name: run.model_dump(mode="json") for run in shipped}
    base = runs["client_dp"]
    return [*runs.values(), *(base | {key: value} for key, values in MORE.items() for value in values)]


MORE = {
    "model": [*({"name": name} for name in ("mlp", "softmax") if name in MODELS), {"module": "mine:Net"}],
    "cohort": [{"law": "fixed", "size": 2}, *({"law": law, "size": 1} for law in COHORTS if law == "spaced")],
    "dataset": [{"npz": "mine.npz", "sha256": "0" * 64}],
    "canaries": [{"clients": 3}],
}


def test_a_run_with_any_value_anywhere_has_an_identity_or_one_line_names_its_key():
    tried = set()
    for whole in kinds():
        for path, value in product(paths(whole), NASTY):
            part = reduce(getitem, path[:-1], whole)
            kind = part.get("name", part.get("law")) if isinstance(part, dict) else ""
            if (at := (path, kind, repr(value)[:99])) in tried:  # the same schema of an earlier run
                continue
            tried.add(at)
            said = line(use, put(whole, path, value))
            assert not said or any(key in said for key in Run.model_fields), (path, value, said)
            number = isinstance(found := reduce(getitem, path, whole), int | float) and found is not True
            if number and found is not False and any(value is one for one in NO_NUMBERS):
                assert said.startswith(f"file: {path[0]}"), (path, value, said)
    assert len(tried) > 2000


PAPER = tiny_paper(
    "tiny",
    {
        "plain": {"scheme": "none"},
        "{kind}_{n}": {"over": {"kind": ["private"], "n": [1, 2]}, "uses": ["dp", "n{n}"]},
        "private": {"uses": ["dp"], "rounds": 3},
    },
    defaults={
        "dataset": "mnist",
        "model": {"name": "cnn", "widths": [2, 2]},
        "partition": {"law": "iid", "clients": 4, "examples": 10},
        "cohort": {"law": "poisson", "rate": 0.5},
    },
    parts={
        "dp": {"scheme": {"name": "client_dp", "clip_l2": 1.0, "noise_multiplier": 1.0}},
        "n1": {"rounds": 1},
        "n2": {"rounds": 2, "uses": []},
    },
    table_defaults={"accuracy": {"heading": "Clients"}},
)
PRESET = {
    "preset": "test",
    "papers": ["tiny"],
    "seeds": 2,
    "mirrors": ["nowhere"],
    "only": ["p*"],
    "substitutes": {"mnist": "digits"},
    "patches": {"tiny/*": {"rounds": 4, "probe": {"clients": 1}}},
    "speed": Speed().model_dump(),
}


@pytest.fixture
def planned(monkeypatch, tmp_path):
    """Return a function that plans a preset over a paper, both as data, as far as the workflow does."""
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny/paper.yaml").touch()

    def go(preset, content):
        files = {key: Key("paper.yaml", value) for key, value in content.items()}
        monkeypatch.setattr(paper, "read_files", lambda folder: copy.copy(files))
        made = plan.make_plan(preset, tmp_path)
        report_files(made)
        made.datasets(), made.partitions(), made.features()
        training_jobs(made, run_rows(made, Sizes(made, Took({}, {}))))

    return go


def test_a_preset_with_any_value_anywhere_is_refused_or_planned(planned):
    assert not line(planned, PRESET, PAPER)
    for path, value in product(paths(PRESET), NASTY):
        line(planned, put(PRESET, path, value), PAPER)


def test_a_paper_with_any_value_anywhere_is_refused_or_planned(planned):
    for path, value in product(paths(PAPER), NASTY):
        line(planned, PRESET, put(PAPER, path, value))
