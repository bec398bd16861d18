"""The workflow: complete, and what was changed is done again and no more."""

import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from support.workflow import RENDER, ROOT, changed, jobs_in, kinds, planned, snakemake, write_config

from fedpriv import frozen
from fedpriv.account.runs import account
from fedpriv.cli.account import account_run
from fedpriv.config.plan import load_preset
from fedpriv.errors import BadInput
from fedpriv.frozen import Deltas
from fedpriv.store import parquet, summary
from fedpriv.workflow import rules, steps

RUN = "results/test/tiny/runs/private/seed0"
TABLES = {"tables_tiny": 1, "report": 1}  # jobs
AGAIN = {"train": 2, "account": 2} | RENDER
CLIP = ("runs", "private", "scheme", "clip_l2")


AUDITS = {"kind": "audits", "title": "A", "place": "ours", "lines": [{"label": "1", "run": "private"}]}


@pytest.fixture
def presets(tmp_path):
    """A folder with the presets and papers, in which nothing was done."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    return tmp_path


def test_the_snakefile_is_a_table_of_contents():
    assert len((ROOT / "Snakefile").read_text().splitlines()) <= 50
    for rules_file in (ROOT / "workflow/rules").glob("*.smk"):
        assert len(rules_file.read_text().splitlines()) <= 120


@pytest.mark.parametrize("path", sorted((ROOT / "workflow/rules").glob("*.smk")), ids=lambda path: path.name)
def test_a_command_names_no_variable_of_a_loop_which_has_ended_when_it_is_made(path):
    commands = re.findall(r"shell:\n\s+step\((.+?)\n *\)?\n", path.read_text() + "\n\n", re.DOTALL)
    assert commands and all(re.fullmatch(r'[\s,)]*("[^"]*"[\s,)]*)+', one) for one in commands)


def test_a_dry_run_writes_nothing(presets):
    before = {path for path in presets.rglob("*") if path.is_file()}
    snakemake("--dry-run", cwd=presets)
    after = {path for path in presets.rglob("*") if path.is_file() and ".snakemake" not in path.parts}
    assert after == before


def test_the_demo_is_few_jobs_with_the_profile_beside_the_snakefile(presets):
    said = snakemake("--dry-run", cwd=presets)
    jobs = jobs_in(said)
    assert "Using workflow specific profile" in said and sum(jobs.values()) <= 34
    assert {"arrays", "partition", "collect", "tables", "figures", "report"} <= set(kinds(jobs))
    assert kinds(jobs)["train"] == kinds(jobs)["account"] >= 4 and "fetch" not in jobs


def test_a_given_preset_inherits_nothing_from_the_default_one_and_one_table_costs_one_table(presets):
    laptop = ("--configfile", str(presets / "config/laptop.yaml"), "--config", 'show=["bdp2019/table2"]')
    said = snakemake("--dry-run", *laptop, cwd=presets)
    jobs = jobs_in(said)
    # Without privacy, DP, DP with a small clipping norm: three seeds each of the row that a laptop runs.
    assert jobs["train"] == jobs["account"] == 9 and sum(jobs.values()) <= 30
    assert jobs["tables_bdp2019"] == 1 and not {"report", "audit"} & set(jobs) and "fetch" in jobs
    assert "resources/mnist.npz" in said and not re.search("aptos|claims|digits", said)


def test_a_key_that_stands_twice_is_refused_though_snakemake_takes_the_last(tmp_path):
    (_, path) = option = write_config(tmp_path)
    Path(path).write_text(Path(path).read_text() + "seeds: 1\n")
    said = snakemake("--dry-run", *option, cwd=tmp_path, check=False)
    assert re.search(r"BadInput.*\n?.*test\.yaml: line \d+: found seeds twice, allowed: every key once", said)


def test_everything_is_built_from_nothing(built):
    results, logs = built / "results/test", built / "logs"
    for stem, suffixes in (
        ("tables/table1", ("csv", "json", "md", "tex")),
        ("figures/epsilons", ("pdf", "png", "json", "md")),
        ("claims", ("csv", "json", "md")),
        ("details", ("md",)),
    ):
        assert all((results / f"tiny/{stem}.{suffix}").stat().st_size for suffix in suffixes)
    table = (results / "tiny/tables/table1.md").read_text()
    assert "digits in place of mnist" in table
    assert not list(results.glob("tiny/runs/unused*"))
    text = (results / "report.html").read_text(encoding="utf-8")
    assert "These are not the paper’s data:</strong> digits in place of mnist" in text
    assert all(f'id="tiny-{name}"' in text for name in ("table-table1", "figure-epsilons", "claim-tighter"))
    written = {str(path.relative_to(logs)) for path in logs.rglob("*.log")}
    assert {"arrays/digits.log", "test/tiny/train/private/seed1.log", "test/tiny/collect.log"} <= written
    assert "max_rss" in pd.read_csv(logs / "test/tiny/train/private/seed0.tsv", sep="\t")


def test_what_is_built_is_not_built_again_though_its_data_lie_on_another_disk_now(copy, tmp_path):
    disk = shutil.copytree(copy / "resources", tmp_path / "disk")
    shutil.rmtree(copy / "resources")
    (copy / "resources").symlink_to(disk)
    assert planned(*write_config(copy), cwd=copy) == {}


@pytest.mark.parametrize(
    ("path", "value", "jobs"),
    [
        (CLIP, 0.6, AGAIN),
        (("defaults", "server"), {"learning_rate": 0.5}, {"train": 4, "account": 4} | RENDER),
        (("runs", "private", "account"), {"delta": 1e-4}, {"account": 2} | RENDER),
        (("runs", "private", "partition"), {"clients": 11}, AGAIN | {"partition": 2}),
        (("tables", "table1", "rows", 0, "baseline", "value"), 0.95, TABLES),
        (("tables", "found"), AUDITS, {"audit": 1} | TABLES),
        (("figures", "epsilons", "title"), "ε", {"figures_tiny": 1, "report": 1}),
        (("runs", "unused", "rounds"), 9, {}),
        (("notes",), ["A note."], {"report": 1}),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, tuple) else None,
)
def test_an_edit_of_the_paper_does_again_what_depends_on_it_and_no_more(copy, path, value, jobs):
    assert planned(*write_config(copy, changed(path, value)), cwd=copy) == jobs


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (CLIP, 0.6),
        (("runs", "private", "account"), {"delta": 1e-4}),
        (("defaults", "dataset"), "digits"),  # those that stand in for others now
    ],
)
def test_where_snakemake_sees_nothing_but_times_a_changed_setting_of_a_run_outdates_what_is_collected(
    copy, path, value
):
    config = write_config(copy, changed(path, value))
    assert planned("--rerun-triggers", "mtime", *config, cwd=copy) == RENDER


@pytest.mark.parametrize(
    ("preset", "jobs"),
    [
        ({"speed": {"device": "cpu", "threads": 2, "chunk": 7}, "mirrors": ["https://example.org"]}, {}),
        ({"seeds": 3}, {"partition": 1, "train": 2, "account": 2} | RENDER),
        ({"only": ["private"]}, RENDER),
    ],
    ids=["speed", "seeds", "less"],
)
def test_an_edit_of_the_preset_does_again_what_depends_on_it_and_no_more(copy, preset, jobs):
    assert planned(*write_config(copy, preset=preset), cwd=copy) == jobs


@pytest.mark.parametrize(
    ("place", "name", "jobs"),
    [(frozen, "ACCOUNT_VERSION", {"account": 4} | RENDER), (rules, "RENDER_VERSION", RENDER)],
    ids=["accounting", "rendering"],
)
def test_what_another_version_has_counted_or_rendered_is_made_again(copy, monkeypatch, place, name, jobs):
    frozen.account_version.cache_clear()
    monkeypatch.setattr(place, name, 1000)
    assert planned(*write_config(copy), cwd=copy) == jobs
    frozen.account_version.cache_clear()


def test_what_was_changed_is_made_again_once_as_far_as_it_is_asked_for(copy):
    table = copy / "results/test/tiny/tables/table1.csv"
    before = table.read_bytes()
    config = write_config(copy, changed(CLIP, 0.6), {"seeds": 1})
    snakemake("--cores", "2", f"{RUN}/ledger.parquet", *config, cwd=copy)
    assert set(pd.read_parquet(copy / f"{RUN}/trace.parquet")["clip_l2"]) == {0.6}
    assert planned(*config, cwd=copy) == RENDER
    snakemake("--cores", "2", *config, cwd=copy)
    assert planned(*config, cwd=copy) == {} and table.read_bytes() != before


def test_a_run_or_ledger_that_is_not_the_plans_is_refused_in_a_line(copy, monkeypatch):
    monkeypatch.chdir(copy)
    plan = load_preset(Path("config/test.yaml"))
    (copy / RUN / "ledger.parquet").unlink()
    account(Path(RUN), Deltas(delta=0.5, instance_delta=0.5))
    with pytest.raises(BadInput, match=rf"{RUN}/ledger.parquet: found a ledger at another δ.*: at δ 0.001"):
        steps.collect(plan, "tiny")
    shutil.copyfile("results/test/tiny/runs/plain/seed0/summary.json", f"{RUN}/summary.json")
    with pytest.raises(BadInput, match=rf"{RUN}.*: found run \w+, allowed: \w+, that of the plan"):
        steps.collect(plan, "tiny")


def test_a_run_of_the_workflow_is_counted_at_its_own_delta_whatever_counts_it(copy):
    run = copy / RUN
    told = summary.load_summary(run / "summary.json")
    assert told["account"]["delta"] == 1e-3
    for known in (told, {key: value for key, value in told.items() if key != "account"}):  # as before
        (run / "ledger.parquet").unlink()
        summary.save_summary(
            run / "summary.json", {key: value for key, value in known.items() if key != "seal"}
        )
        configs = copy / "config" if "account" not in known else copy / "nowhere"
        assert {statement.delta for statement in account_run(run, configs=configs)} == {1e-3}
    assert parquet.made_with(run / "ledger.parquet") == Deltas(delta=1e-3).made_with


def test_a_failed_job_leaves_the_reason_in_its_log_and_a_training_what_it_resumes_from(copy):
    broken, resumed = copy / RUN, copy / "results/test/tiny/runs/private/seed1"
    (broken / "trace.parquet").write_bytes(b"PAR1")
    for kept in (resumed / "resume").iterdir():
        shutil.rmtree(kept)
    (resumed / "resume/state").write_text("the state of round 1")
    (dealt,) = copy.glob("results/test/partitions/*/seed1.npz")
    dealt.write_bytes(b"PK")
    targets = (f"{RUN}/ledger.parquet", str((resumed / "trace.parquet").relative_to(copy)))
    force = ("--forcerun", "account", "--until", "account", "train")
    said = snakemake("--cores", "1", *targets, *force, *write_config(copy), cwd=copy, check=False)
    log = (copy / "logs/test/tiny/account/private/seed0.log").read_text()
    assert "BadInput" in log and "trace.parquet" in log and "trace.parquet" in said
    assert (resumed / "resume/state").exists() and not (resumed / "trace.parquet").exists()


def test_each_mistake_of_each_run_that_failed_is_a_line(tmp_path):
    write_config(tmp_path)
    plan = load_preset(tmp_path / "config/test.yaml")

    def fail(key, out):
        raise BadInput("first", "second")

    with pytest.raises(BadInput) as error:
        steps.each_run("counting", plan, "tiny", ["private/0", "private/1"], tmp_path, fail)
    runs = [f"counting: failed: tiny private seed {seed}" for seed in (0, 1)]
    assert str(error.value).splitlines() == [f"{run}: {word}" for run in runs for word in ("first", "second")]


def test_make_clean_removes_the_demo_and_nothing_of_other_presets(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    kept = [".snakemake/metadata/one", "results/laptop/report.html", "results/reference/index"]
    for name in (*kept, "results/demo/report.html", ".ruff_cache/one"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    subprocess.run(["make", "clean"], cwd=tmp_path, check=True, capture_output=True)
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert left == sorted([*kept, "Makefile"])
