"""The workflow: clean, complete, and no more is done again than what was changed."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
import yaml
from filelock import FileLock
from support.tiny_paper import tiny_paper

ROOT = Path(__file__).parents[2]
PRESETS = ("demo", "laptop", "binary", "paper")
PAPER = tiny_paper(
    "tiny",
    {
        "plain": {"scheme": "none", "probe": {"clients": 0}},
        "private": {
            "scheme": {"name": "client_dp", "clip_l2": 0.5, "noise_multiplier": 2.0},
            "probe": {"clients": 4, "panel": 4},
        },
        "unused": {"scheme": "none"},
    },
    defaults={
        "dataset": "mnist",
        "model": {"name": "cnn", "widths": [2, 2, 4]},
        "partition": {"law": "iid", "clients": 10, "examples": 20},
        "cohort": {"law": "poisson", "rate": 0.5},
        "rounds": 2,
        "account": {"delta": 1e-3},
    },
)
PRESET = {
    "preset": "test",
    "papers": ["tiny"],
    "seeds": 2,
    "only": ["p*"],
    "stand_ins": {"mnist": "digits"},
    "speed": {"device": "cpu", "threads": 1},
}


def snakemake(*arguments, cwd=ROOT, check=True):
    """Run Snakemake on the project's Snakefile in folder `cwd`; return what it printed."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--directory", cwd]
    done = subprocess.run(
        [*map(str, command), *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    said = done.stdout + done.stderr
    assert not check or done.returncode == 0, said
    return said


def planned(*arguments, cwd):
    """Return how often each rule would run."""
    said = snakemake("--dry-run", *arguments, cwd=cwd)
    if "Nothing to be done" in said:
        return {}
    (stats,) = re.findall(r"Job stats:\njob +count\n[- ]+\n(.+?)\ntotal", said, re.DOTALL)[:1]
    return {
        rule: int(count) for rule, count in (line.split() for line in stats.splitlines()) if rule != "all"
    }


def kinds(jobs):
    """Return the jobs by the first word of their rule: `train_tiny_seed0_0` is a `train`."""
    found = Counter()
    for rule, count in jobs.items():
        found[rule.partition("_")[0]] += count
    return found


def write_config(folder, paper=None, preset=None):
    """Write the tiny paper and its preset into `folder`, with some keys changed."""
    (folder / "config/papers/tiny").mkdir(parents=True, exist_ok=True)
    (folder / "config/papers/tiny/paper.yaml").write_text(yaml.safe_dump(paper or PAPER))
    (folder / "config/test.yaml").write_text(yaml.safe_dump(PRESET | (preset or {})))
    return ("--configfile", str(folder / "config/test.yaml"))


def changed(path, value):
    """Return the tiny paper with the value at `path` replaced."""
    paper = yaml.safe_load(yaml.safe_dump(PAPER))
    place = paper
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return paper


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return a folder in which everything of the tiny paper was built from nothing."""
    folder = tmp_path_factory.mktemp("built")
    snakemake("--cores", "2", *write_config(folder), cwd=folder)
    return folder


@pytest.fixture
def copy(built, tmp_path):
    """Return a copy of the built folder that a test may change."""
    return Path(shutil.copytree(built, tmp_path / "copy", symlinks=True))


def test_the_workflow_lints():
    assert "good condition" in snakemake("--lint")


def test_the_profile_beside_the_snakefile_is_used():
    assert "Using workflow specific profile" in snakemake("--dry-run", "--quiet")


@pytest.mark.parametrize(
    "script", sorted((ROOT / "workflow/scripts").glob("*.py")), ids=lambda path: path.name
)
def test_a_script_only_unpacks_and_calls(script):
    assert len(script.read_text().splitlines()) <= 15


def test_the_snakefile_is_a_table_of_contents():
    assert len((ROOT / "Snakefile").read_text().splitlines()) <= 40
    for rules in (ROOT / "workflow/rules").glob("*.smk"):
        assert len(rules.read_text().splitlines()) <= 120


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_plans_every_step_from_nothing(preset, tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    jobs = kinds(planned("--configfile", str(tmp_path / f"config/{preset}.yaml"), cwd=tmp_path))
    assert jobs["train"] == jobs["account"] >= 4
    assert ("fetch" in jobs) == (preset != "demo")
    assert {"decode", "partition", "collect", "tables", "figures", "report"} <= set(jobs)


def test_the_demo_is_few_jobs(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    assert sum(planned(cwd=tmp_path).values()) <= 80


def test_a_given_preset_inherits_nothing_from_the_default_one(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    said = snakemake("--dry-run", "--configfile", str(tmp_path / "config/laptop.yaml"), cwd=tmp_path)
    assert "digits" not in said and "resources/mnist.npz" in said


def test_one_table_can_be_asked_for(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    jobs = planned(
        "results/laptop/bdp2019/tables/table2.md",
        "--configfile",
        str(tmp_path / "config/laptop.yaml"),
        cwd=tmp_path,
    )
    assert jobs["tables_bdp2019"] == 1 and "figures" not in kinds(jobs)


def test_a_misspelt_key_is_said_in_one_line(tmp_path):
    said = snakemake("--dry-run", *write_config(tmp_path, preset={"seed": 1}), cwd=tmp_path, check=False)
    assert re.search(r"BadInput.*\n.*seed: unknown key|BadInput.*seed: unknown key", said)


def test_the_coverage_study_is_built_only_when_asked_for(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    assert planned("results/coverage/coverage.md", cwd=tmp_path) == {"coverage": 1}
    assert "coverage" not in planned(cwd=tmp_path)


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
    assert "standing in for mnist" in (built / "results/test/tiny/tables/table1.md").read_text()


def test_every_job_has_a_log_and_training_was_measured(built):
    logs = {str(path.relative_to(built / "logs")) for path in (built / "logs").rglob("*.log")}
    assert {"decode/digits.log", "test/tiny/train/private/seed1.log", "test/tiny/collect.log"} <= logs
    (measured,) = built.rglob("private/seed0.tsv")
    assert "max_rss" in pd.read_csv(measured, sep="\t")


def test_what_is_built_is_not_built_again(built):
    assert planned(*write_config(built), cwd=built) == {}


RENDER = {"collect": 1, "tables_tiny": 1, "figures_tiny": 1, "report": 1}


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
    assert "digits stands in for mnist" in text
    assert all(f'id="tiny-{name}"' in text for name in ("table-table1", "figure-epsilons", "claim-tighter"))


# The same paper where the runs of a seed share a job.
TOGETHER = {"speed": {"device": "cpu", "threads": 1, "runs_per_job": 8}}


@pytest.fixture(scope="module")
def built_together(tmp_path_factory):
    """Return a folder with everything, in which runs were trained together, and what was said of it."""
    folder = tmp_path_factory.mktemp("together")
    said = followed("--cores", "2", *write_config(folder, preset=TOGETHER), cwd=folder)
    return folder, said


@pytest.fixture
def together(built_together, tmp_path):
    """Return a copy of that folder that a test may change; files that were one are one again."""
    folder, _ = built_together
    shutil.copytree(folder, tmp_path / "copy")
    for kept in tmp_path.glob("copy/results/test/tiny/runs/*/*/resume/*"):
        kept.unlink()
        kept.hardlink_to(kept.parents[1] / kept.name)
    return tmp_path / "copy"


def followed(*arguments, cwd):
    """Run Snakemake in folder `cwd` as `make` does, with a line for all it begins; return these lines."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", *arguments]
    return subprocess.run(
        [sys.executable, "-m", "fedpriv.cli.follow", "snakemake.log", *command],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def written(folder):
    """Return which file each run's trace is: another after it was trained again."""
    root = folder / "results/test/tiny/runs"
    return {str(path.relative_to(root).parent): path.stat().st_ino for path in root.glob("*/*/trace.parquet")}


def test_runs_that_are_trained_together_end_with_the_same_bits(built, built_together):
    runs, (folder, _) = built / "results/test/tiny/runs", built_together
    models = sorted(runs.glob("*/*/model.safetensors"))
    assert len(models) == 4
    for model in models:
        same = folder / "results/test/tiny/runs" / model.relative_to(runs)
        assert same.read_bytes() == model.read_bytes()


def test_a_line_tells_of_every_run_and_step(built_together):
    _, said = built_together
    assert re.search(r"^\[ *\d+/\d+ +0:\d\d\] training tiny private seed 1$", said, re.MULTILINE)
    assert all(text in said for text in ("accounting tiny plain seed0", "figures of tiny", "the report"))
    assert "rule" not in said


def test_an_edit_of_one_run_trains_that_run_alone(together):
    before = written(together)
    config = write_config(together, changed(("runs", "private", "scheme", "clip_l2"), 0.6), TOGETHER)
    snakemake("--cores", "2", *config, cwd=together)
    after = written(together)
    assert {run for run in before if before[run] != after[run]} == {"private/seed0", "private/seed1"}


def test_an_edit_of_a_table_trains_nothing_together(together):
    paper = changed(("tables", "table1", "rows", 0, "baseline", "accuracy"), 0.95)
    assert planned(*write_config(together, paper, TOGETHER), cwd=together) == {"tables_tiny": 1, "report": 1}


def test_one_more_seed_trains_that_seed_alone(together):
    config = write_config(together, preset=TOGETHER | {"seeds": 3})
    jobs = {"partition": 1, "train_tiny_seed2_0": 1, "account_tiny_seed2_0": 1}
    assert planned(*config, cwd=together) == jobs | RENDER


def test_a_run_that_fails_keeps_those_it_was_trained_with(together):
    before = written(together)
    config = write_config(together, changed(("runs", "private", "scheme", "clip_l2"), 0.6), TOGETHER)
    with FileLock(together / "results/test/tiny/runs/private/seed0/resume/lock"):
        said = followed("--cores", "1", "results/test/tiny/runs.parquet", *config, cwd=together)
    assert "failed: train_tiny_seed0_0" in said and "another process" in said
    assert "training: failed: tiny private seed 0" in said
    snakemake("--cores", "1", "results/test/tiny/runs.parquet", *config, cwd=together)
    after = written(together)
    assert {run for run in before if before[run] == after[run]} == {"plain/seed0", "plain/seed1"}
