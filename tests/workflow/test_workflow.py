"""The workflow: clean, complete, and no more is done again than what was changed."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from support.workflow import PRESETS, RENDER, ROOT, changed, kinds, planned, snakemake, write_config

from fedpriv.cli.account import account_run
from fedpriv.files import summary


def test_the_workflow_lints():
    assert "good condition" in snakemake("--lint")


def test_the_profile_beside_the_snakefile_is_used():
    assert "Using workflow specific profile" in snakemake("--dry-run", "--quiet")


def test_the_snakefile_is_a_table_of_contents():
    assert len((ROOT / "Snakefile").read_text().splitlines()) <= 50
    for rules in (ROOT / "workflow/rules").glob("*.smk"):
        assert len(rules.read_text().splitlines()) <= 120


@pytest.mark.parametrize("rules", sorted((ROOT / "workflow/rules").glob("*.smk")), ids=lambda path: path.name)
def test_a_command_names_no_variable_of_a_loop_which_has_ended_when_it_is_made(rules):
    commands = re.findall(r"shell:\n\s+step\((.+?)\n *\)?\n", rules.read_text() + "\n\n", re.DOTALL)
    assert commands and all(re.fullmatch(r'[\s,)]*("[^"]*"[\s,)]*)+', one) for one in commands)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_plans_every_step_from_nothing(preset, tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    jobs = kinds(planned("--configfile", str(tmp_path / f"config/{preset}.yaml"), cwd=tmp_path))
    assert jobs["train"] == jobs["account"] >= 4
    assert ("fetch" in jobs) == (preset != "demo")
    assert {"arrays", "partition", "collect", "tables", "figures", "report"} <= set(jobs)


def test_the_demo_is_few_jobs(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    assert sum(planned(cwd=tmp_path).values()) <= 34


def test_a_given_preset_inherits_nothing_from_the_default_one(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    said = snakemake("--dry-run", "--configfile", str(tmp_path / "config/laptop.yaml"), cwd=tmp_path)
    assert "digits" not in said and "resources/mnist.npz" in said


def test_one_table_costs_one_table(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    laptop = ("--configfile", str(tmp_path / "config/laptop.yaml"), "--config", 'show=["bdp2019/table2"]')
    jobs = planned(*laptop, cwd=tmp_path)
    # Without privacy, DP, DP with a small clipping norm: three seeds each of the row that a laptop runs.
    assert jobs["train"] == jobs["account"] == 9 and sum(jobs.values()) <= 30
    assert jobs["tables_bdp2019"] == 1 and "report" not in jobs
    said = snakemake("--dry-run", *laptop, cwd=tmp_path)
    assert "resources/mnist.npz" in said and "aptos" not in said and "claims" not in said


def test_a_misspelt_key_is_said_in_one_line(tmp_path):
    said = snakemake("--dry-run", *write_config(tmp_path, preset={"seed": 1}), cwd=tmp_path, check=False)
    assert re.search(r"BadInput.*\n.*seed: unknown key|BadInput.*seed: unknown key", said)


def test_a_key_that_stands_twice_is_refused_though_snakemake_takes_the_last(tmp_path):
    (_, path) = option = write_config(tmp_path)
    Path(path).write_text(Path(path).read_text() + "seeds: 1\n")
    said = snakemake("--dry-run", *option, cwd=tmp_path, check=False)
    assert re.search(r"test\.yaml: line \d+: found seeds twice, allowed: every key once", said)


def test_everything_is_built_from_nothing(built):
    results = built / "results/test/tiny"
    for stem, suffixes in (
        ("tables/table1", ("csv", "md", "tex", "html")),
        ("figures/epsilons", ("pdf", "png", "md")),
        ("claims", ("csv", "md", "tex")),
    ):
        assert all((results / f"{stem}.{suffix}").stat().st_size for suffix in suffixes)
    assert "reproduced" in (results / "tables/table1.md").read_text()
    assert not list(results.glob("runs/unused*"))


def test_what_stands_in_is_said_in_what_was_built(built):
    assert "substitute data for mnist" in (built / "results/test/tiny/tables/table1.md").read_text()


def test_every_job_has_a_log_and_training_was_measured(built):
    logs = {str(path.relative_to(built / "logs")) for path in (built / "logs").rglob("*.log")}
    assert {"arrays/digits.log", "test/tiny/train/private/seed1.log", "test/tiny/collect.log"} <= logs
    (measured,) = built.rglob("private/seed0.tsv")
    assert "max_rss" in pd.read_csv(measured, sep="\t")


def test_what_is_built_is_not_built_again(copy):
    assert planned(*write_config(copy), cwd=copy) == {}


@pytest.mark.parametrize(("keep", "made_again"), [(shutil.copy2, False), (shutil.copyfile, True)])
def test_data_may_lie_on_another_disk_that_resources_links_to_if_their_times_are_kept(
    copy, tmp_path, keep, made_again
):
    disk = shutil.copytree(copy / "resources", tmp_path / "disk", copy_function=keep)
    shutil.rmtree(copy / "resources")
    (copy / "resources").symlink_to(disk)
    config = ("--configfile", str(copy / "config/test.yaml"))
    assert bool(planned(*config, cwd=copy)) == made_again


@pytest.mark.parametrize(
    "path, value, jobs",
    [
        (("runs", "private", "scheme", "clip_l2"), 0.6, {"train": 2, "account": 2} | RENDER),
        (("runs", "plain", "rounds"), 3, {"train": 2, "account": 2} | RENDER),
        (("defaults", "server"), {"learning_rate": 0.5}, {"train": 4, "account": 4} | RENDER),
        (("runs", "private", "account"), {"delta": 1e-4}, {"account": 2} | RENDER),
        (
            ("runs", "private", "partition"),
            {"clients": 11},
            {"partition": 2, "train": 2, "account": 2} | RENDER,
        ),
        (
            ("tables", "table1", "rows", 0, "baseline", "accuracy"),
            0.95,
            {"tables_tiny": 1, "report": 1},
        ),
        (("figures", "epsilons", "title"), "ε", {"figures_tiny": 1, "report": 1}),
        (("claims", 0, "text"), "Tighter it is.", {"tables_tiny": 1, "report": 1}),
        (("runs", "unused", "rounds"), 9, {}),
        (("notes",), ["A note."], {"report": 1}),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, tuple) else None,
)
def test_an_edit_of_the_paper_does_again_what_depends_on_it_and_no_more(copy, path, value, jobs):
    assert planned(*write_config(copy, changed(path, value)), cwd=copy) == jobs


@pytest.mark.parametrize(
    "preset, jobs",
    [
        ({"speed": {"device": "cpu", "threads": 2, "chunk": 7}}, {}),
        ({"mirrors": ["https://example.org"]}, {}),
        ({"seeds": 3}, {"partition": 1, "train": 2, "account": 2} | RENDER),
        ({"only": ["*"]}, {"train": 2, "account": 2} | RENDER),
    ],
    ids=["speed", "mirrors", "seeds", "only"],
)
def test_an_edit_of_the_preset_does_again_what_depends_on_it_and_no_more(copy, preset, jobs):
    assert planned(*write_config(copy, preset=preset), cwd=copy) == jobs


def test_a_run_that_was_changed_can_be_run_again(copy):
    config = write_config(copy, changed(("runs", "private", "scheme", "clip_l2"), 0.6))
    snakemake("--cores", "2", "results/test/tiny/runs/private/seed0/ledger.parquet", *config, cwd=copy)
    trace = pd.read_parquet(copy / "results/test/tiny/runs/private/seed0/trace.parquet")
    assert set(trace["clip_l2"]) == {0.6}


def test_a_run_of_the_workflow_is_counted_at_its_own_delta_whatever_counts_it(copy):
    run = copy / "results/test/tiny/runs/private/seed0"
    told = summary.load(run / "summary.json")
    assert told["account"]["delta"] == 1e-3
    for known in (told, {key: value for key, value in told.items() if key != "account"}):  # as before
        (run / "ledger.parquet").unlink()
        summary.save(run / "summary.json", {key: value for key, value in known.items() if key != "seal"})
        configs = copy / "config" if "account" not in known else copy / "nowhere"
        assert {spend.delta for spend in account_run(run, configs=configs)} == {1e-3}


def test_a_failed_job_leaves_the_reason_in_its_log(copy):
    (copy / "results/test/tiny/runs/private/seed0/trace.parquet").write_bytes(b"PAR1")
    said = snakemake("--cores", "1", "--forcerun", "account", *write_config(copy), cwd=copy, check=False)
    log = (copy / "logs/test/tiny/account/private/seed0.log").read_text()
    assert "BadInput" in log and "trace.parquet" in log and "trace.parquet" in said


def test_a_failed_training_keeps_what_it_resumes_from_and_no_half_result(copy):
    run = copy / "results/test/tiny/runs/private/seed0"
    for kept in (run / "resume").iterdir():
        kept.unlink()
    (run / "resume/state").write_text("the state of round 1")
    (dealt,) = copy.glob("results/test/partitions/*/seed0.npz")
    dealt.write_bytes(b"PK")
    target = "results/test/tiny/runs/private/seed0/trace.parquet"
    snakemake("--cores", "1", target, *write_config(copy), cwd=copy, check=False)
    assert (run / "resume/state").exists() and not (run / "trace.parquet").exists()


def test_the_report_has_the_tables_figures_and_claims(built):
    text = (built / "results/test/report.html").read_text(encoding="utf-8")
    assert "digits replaces mnist" in text
    assert all(f'id="tiny-{name}"' in text for name in ("table-table1", "figure-epsilons", "claim-tighter"))


# The same paper where the runs of a seed share a job.
