"""No old result passes for a new one: steps are killed after a change, and results are deleted."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.once import once
from support.programs import KILLED, programs
from support.tiny_paper import write_preset
from support.workflow import PAPER, PRESET, ROOT, jobs_in

from fedpriv.account import plans
from fedpriv.config.files import targets, torn_runs
from fedpriv.config.plan import load_preset
from fedpriv.errors import BadInput
from fedpriv.store.rundir import RunDir, restore_outputs
from fedpriv.store.summary import load_summary
from fedpriv.workflow import steps

CONFIG = Path("config/demo.yaml")
RESULTS = Path("results/demo")
TABLE = str(RESULTS / "tiny/tables/table1.md")
AUDITS = {"kind": "audits", "title": "Found", "place": "ours", "lines": [{"label": "1", "run": "private"}]}
# Of steps that wait for nothing of each other both are killed, and then one of them.
DYING = ["partition", "train", "account", "collect audit", "audit figures", "tables figures", "figures"]
SNAKEMAKE = ("snakemake", "--configfile", str(CONFIG), "--cores", "1")
WAYS = {
    "plain": SNAKEMAKE,
    "mtime": (*SNAKEMAKE, "--rerun-triggers", "mtime"),
    "make": ("make", "demo", "INSTALLED=", "CORES=1"),
}


def write_paper(folder, noise=2.0, clients=10, dataset="mnist", seeds=1):
    """Write the tiny paper and its preset, with one private run of this noise."""
    private = PAPER["runs"]["private"]
    scheme = private["scheme"] | {"noise_multiplier": noise}
    runs = PAPER["runs"] | {"private": private | {"scheme": scheme, "partition": {"clients": clients}}}
    paper = PAPER | {"runs": runs, "tables": PAPER["tables"] | {"found": AUDITS}}
    paper |= {"defaults": PAPER["defaults"] | {"dataset": dataset}}
    write_preset(folder, PRESET | {"preset": "demo", "seeds": seeds, "only": ["private"]}, paper)


def call(way, *arguments, cwd, killed=""):
    """Call the workflow in one of the `WAYS`, with steps that are killed; return its exit code and words."""
    program, *words = WAYS[way]
    start = ("make", f"BIN={programs()}") if program == "make" else (programs() / program,)
    done = subprocess.run(
        [*start, *words, *arguments],
        cwd=cwd,
        env=os.environ | {KILLED: killed, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder in which everything was built."""
    return once(tmp_path_factory, "finished", build)


def build(folder):
    for name in ("Makefile", "Snakefile"):
        shutil.copy(ROOT / name, folder)
    for name in ("workflow", "profiles"):
        shutil.copytree(ROOT / name, folder / name)
    write_paper(folder)
    code, text = call("plain", cwd=folder)
    assert code == 0, text


@pytest.fixture
def here(finished, tmp_path, monkeypatch):
    """A copy of that folder: the current one."""
    monkeypatch.chdir(shutil.copytree(finished, tmp_path / "here", symlinks=True))


def epsilon(noise):
    """Return the ε of the run as a table prints it, by the accountant of plans."""
    plan = {"sampling_rate": 0.5, "noise_multiplier": noise, "rounds": 2, "delta": 1e-3}
    return f"{plans.epsilon(accountant='moments', **plan).epsilon:.2f}"


@pytest.mark.parametrize("way", WAYS)
def test_whichever_step_is_killed_after_a_change_the_report_is_of_the_new_setting_or_none_passes(way, here):
    write_paper(Path(), noise=5.0, clients=11)
    if way == "mtime":  # which sees no new setting of a run, and takes no old run for it
        code, text = call(way, cwd=".")
        assert code and "delete the folder to train it" in Path("logs/demo/tiny/collect.log").read_text()
        shutil.rmtree(RESULTS / "tiny/runs")
    for killed in (*DYING, "report"):
        code, text = call(way, cwd=".", killed=killed)
        assert code, (killed, text)
        with pytest.raises(BadInput, match=r"found (no such file|the report of another|what another)"):
            steps.outcome(load_preset(CONFIG))
        if "collect" in killed:  # nor does the old table, when it is asked for by its name
            _, text = call("mtime" if way == "mtime" else "plain", "--dry-run", TABLE, cwd=".")
            assert jobs_in(text) == {"collect": 1, "audit": 1, "tables_tiny": 1}
    code, text = call(way, cwd=".")
    assert code == 0, text
    steps.outcome(load_preset(CONFIG))
    report = (RESULTS / "report.html").read_text(encoding="utf-8")
    assert epsilon(5.0) in report and "multiplier 5.0" in report.replace("<wbr>", "")
    assert epsilon(2.0) not in report and "multiplier 2.0" not in report.replace("<wbr>", "")
    assert epsilon(5.0) in Path(TABLE).read_text()


def test_each_result_that_was_deleted_is_made_again_with_the_same_bytes(here):
    plan = load_preset(CONFIG)
    listed = [Path(file) for file in (*targets(plan), *torn_runs(plan, (), Path()))]
    there = {path for path in RESULTS.rglob("*.*") if not {"plan", "partitions", "resume"} & {*path.parts}}
    assert {path for path in there if path.name != "model.safetensors"} == {*listed}
    before = {path: path.read_bytes() for path in listed if path.suffix != ".parquet"}
    for path in listed:
        if path.name != "trace.parquet":  # a run that is wholly gone would be trained
            path.unlink()
    code, text = call("plain", cwd=".")
    assert code == 0 and "Nothing to be done" not in text, text
    assert all(path.exists() for path in listed)
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize(
    ("name", "rule"),
    {
        "report.html": "report",
        "tiny/runs.parquet": "collect",
        "tiny/findings.parquet": "audit",
        "tiny/tables/table1.tex": "tables_tiny",
        "tiny/claims.csv": "tables_tiny",
        "tiny/figures/epsilons.pdf": "figures_tiny",
        "tiny/runs/private/seed0/ledger.parquet": "account",
        "tiny/runs/private/seed0/summary.json": "train",
    }.items(),
)
def test_a_result_that_alone_was_deleted_is_made_again(name, rule, here):
    (RESULTS / name).unlink()
    code, text = call("plain", "--dry-run", cwd=".")
    assert code == 0 and jobs_in(text)[rule] == 1


def test_a_run_that_is_wholly_gone_is_not_trained_as_long_as_nothing_needs_it(here):
    shutil.rmtree(RESULTS / "tiny/runs")
    code, text = call("plain", "--dry-run", cwd=".")
    assert code == 0 and jobs_in(text) == {}


def test_a_run_that_is_put_back_says_of_its_data_what_the_plan_says_now(here):
    run = RESULTS / "tiny/runs/private/seed0"
    facts = load_summary(run / "summary.json")
    assert facts["data"]["substitute_for"] == "mnist"
    (run / "summary.json").unlink()
    write_paper(Path(), dataset="digits")  # of the paper itself: they stand in for nothing
    plan = load_preset(CONFIG)
    labels = plan.labels("tiny", "private")
    assert plan.key("tiny", "private", 0).identity == facts["identity"]
    assert restore_outputs(run, run / "resume" / facts["identity"], facts["identity"], labels)
    assert RunDir(run).summary["data"] == facts["data"] | {"substitute_for": None}
    steps.collect(plan, "tiny")


def test_a_run_that_says_of_its_data_what_the_plan_does_not_is_refused(here):
    write_paper(Path(), dataset="digits")
    with pytest.raises(BadInput, match=r"summary.json: found data in place of mnist, allowed: in place of"):
        steps.collect(load_preset(CONFIG), "tiny")


@pytest.mark.parametrize("step", ["tables", "figures", "report", "audit", "outcome"])
def test_a_step_by_hand_refuses_what_was_collected_for_another_config(step, here):
    write_paper(Path(), noise=5.0)
    words = () if step in ("report", "outcome") else ("tiny",)
    before = {path: path.read_bytes() for path in RESULTS.rglob("*") if path.is_file()}
    with pytest.raises(BadInput, match=r"(runs.parquet: found what another config|summary.json: found run)"):
        steps.do_step(step, CONFIG, words, {})
    assert {path: path.read_bytes() for path in RESULTS.rglob("*") if path.is_file()} == before


def test_a_report_of_some_of_the_runs_is_not_the_outcome_of_all(here):
    write_paper(Path(), seeds=2)
    for step in ("audit", "collect", "tables", "figures", "report"):
        steps.do_step(step, CONFIG, () if step == "report" else ("tiny",), {})
    with pytest.raises(BadInput, match=r"tiny/runs.parquet: found 1 runs, allowed: 2, all of the plan"):
        steps.do_step("outcome", CONFIG, (), {})


def test_a_preset_without_a_finished_run_collects_nothing_and_says_so(here):
    (Path(CONFIG)).write_text(Path(CONFIG).read_text().replace("preset: demo", "preset: renamed"))
    with pytest.raises(BadInput, match=r"results/renamed/tiny: found no finished run .*, allowed: at least"):
        steps.do_step("collect", CONFIG, ("tiny",), {})
    with pytest.raises(BadInput, match=r"results/renamed/.*: found no such file \(and \d+ more\)"):
        steps.do_step("outcome", CONFIG, (), {})
