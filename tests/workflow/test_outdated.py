"""What was made of something else than the plan says is made again, whatever Snakemake remembers."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.workflow import RENDER, ROOT, changed, planned, write_config

from fedpriv.account.runs import account
from fedpriv.cli.again import force_outdated
from fedpriv.config.finished import check, identities, outdated, scope
from fedpriv.config.plan import load_preset
from fedpriv.errors import BadInput
from fedpriv.files import made, parquet
from fedpriv.frozen import Deltas
from fedpriv.workflow import steps

RUN = "results/test/tiny/runs/private/seed0"
RUNS = {f"results/test/tiny/runs/{run}/seed{seed}" for run in ("plain", "private") for seed in (0, 1)}
PRIVATE = {one for one in RUNS if "private" in one}
OLD = "0" * 16


@pytest.fixture
def forgotten(copy, monkeypatch):
    """The built folder, of which Snakemake has forgotten everything."""
    shutil.rmtree(copy / ".snakemake")
    monkeypatch.chdir(copy)
    return copy


def found(*asked):
    return outdated(load_preset(Path("config/test.yaml")), asked)


def beside(*steps):
    return {f"results/test/tiny/made/{step}.txt" for step in steps}


REPORT = {"results/test/made/report.txt"}


@pytest.mark.parametrize(
    ("path", "value", "old"),
    [
        (("runs", "private", "scheme", "clip_l2"), 0.6, {f"{one}/summary.json" for one in PRIVATE}),
        (("defaults", "server"), {"learning_rate": 0.5}, {f"{one}/summary.json" for one in RUNS}),
        (("runs", "private", "account"), {"delta": 1e-4}, {f"{one}/ledger.parquet" for one in PRIVATE}),
        (("tables", "table1", "rows", 0, "baseline", "accuracy"), 0.95, beside("tables")),
        (("claims", 0, "text"), "Tighter it is.", beside("tables")),
        (("figures", "epsilons", "title"), "ε", beside("figures")),
        (("notes",), ["A note."], set()),
        (("runs", "unused", "rounds"), 9, set()),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, tuple) else None,
)
def test_finished_files_themselves_say_what_an_edit_has_outdated(forgotten, path, value, old):
    assert found() == set()
    write_config(forgotten, changed(path, value))
    told = found()
    assert old <= told and not {one for one in told - old if "/runs/" in one}
    assert (told >= REPORT) == (path[0] in ("notes", "tables", "figures"))


@pytest.mark.parametrize(
    ("path", "value", "jobs"),
    [
        (None, None, {}),
        (("runs", "private", "scheme", "clip_l2"), 0.6, {"train": 2, "account": 2} | RENDER),
        (("runs", "private", "account"), {"delta": 1e-4}, {"account": 2} | RENDER),
        (("claims", 0, "text"), "Tighter it is.", {"tables_tiny": 1, "report": 1}),
    ],
)
def test_an_edit_is_not_answered_with_old_numbers_where_snakemake_has_forgotten_them(
    forgotten, path, value, jobs
):
    config = write_config(forgotten, changed(path, value) if path else None)
    assert planned(*force_outdated(["snakemake", *config])[1:], cwd=forgotten) == jobs


def test_a_run_that_is_left_out_now_leaves_the_tables_too(forgotten):
    write_config(forgotten, preset={"only": ["private"]})
    assert beside("collect", "tables", "figures") & found() >= beside("collect")


def test_a_ledger_of_another_accountant_and_what_other_code_rendered_are_made_again(copy, monkeypatch):
    monkeypatch.chdir(copy)
    ledger = Path(RUN, "ledger.parquet")
    version = made.maker_version("account.runs")
    old = made.said(ledger).replace(version, OLD)
    sources = [ledger.with_name(name) for name in ("trace.parquet", "distances.npz")]
    parquet.save(parquet.load(ledger), ledger, sources, old)
    assert parquet.stale(ledger) == "version of the code"
    table = Path("results/test/tiny/made/tables.txt")
    table.write_text(table.read_text().replace(made.maker_version("report.paper"), OLD))
    assert found() == {str(ledger), str(table)}
    config = ("--configfile", str(copy / "config/test.yaml"))
    jobs = planned(*force_outdated(["snakemake", *config])[1:], cwd=copy)
    assert jobs == {"account": 1} | RENDER


def test_only_what_is_asked_for_is_made_again(forgotten):
    write_config(forgotten, changed(("defaults", "server"), {"learning_rate": 0.5}))
    one = {f"{RUN}/summary.json"}
    assert found(f"{RUN}/trace.parquet") == found(f"./{RUN}/ledger.parquet") == one
    everything = {f"{run}/summary.json" for run in RUNS}
    for asked in ("results/test/report.html", "results/test/tiny/tables/table1.csv", "all"):
        assert everything <= found(asked)
    assert not found("results/other/report.html") and not found("resources/digits.npz")
    assert scope("results/test/tiny/runs.parquet") == Path("results/test/tiny")


def test_a_run_of_another_config_is_refused_before_it_is_collected(forgotten):
    plan = load_preset(Path("config/test.yaml"))
    check(identities(plan, "tiny"), plan.runs["tiny"])
    shutil.copyfile("results/test/tiny/runs/plain/seed0/summary.json", f"{RUN}/summary.json")
    with pytest.raises(BadInput, match=rf"{RUN}/: found run [0-9a-f]+, allowed: [0-9a-f]+, that of the plan"):
        check(identities(plan, "tiny"), plan.runs["tiny"])


def test_a_ledger_at_another_delta_is_refused_before_it_is_collected(forgotten):
    plan = load_preset(Path("config/test.yaml"))
    account(Path(RUN), Deltas(delta=0.5, instance_delta=0.5))
    with pytest.raises(
        BadInput, match=rf"{RUN}/ledger.parquet: found a ledger at another δ.*allowed: at δ 0.001"
    ):
        steps.collect(plan, "tiny")


def test_make_clean_removes_the_demo_and_nothing_of_other_presets(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    kept = [".snakemake/metadata/one", "results/laptop/report.html", "results/reference/index"]
    for name in (*kept, "results/demo/report.html", ".ruff_cache/one"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    subprocess.run(["make", "clean"], cwd=tmp_path, check=True, capture_output=True)
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert left == sorted([*kept, "Makefile"])


def test_what_is_rendered_says_nothing_of_the_code_but_beside_itself(built):
    folder = built / "results/test/tiny"
    files = [*folder.glob("tables/*"), *folder.glob("figures/*"), *folder.glob("claims.*")]
    assert len(files) > 8
    assert not any(re.search(rb"made-with", file.read_bytes()) for file in files)
    assert all(made.said(folder / f"made/{step}.txt") for step in ("collect", "tables", "figures"))
