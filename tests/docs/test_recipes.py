"""Every command of the recipes works as pasted: run where it is quick, else read by its program."""

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from glob import glob
from pathlib import Path

import pandas as pd
import pytest
import typer.main
import yaml
from support.made_runs import write_run

from fedpriv.cli.app import app
from fedpriv.config.plan import load_preset

ROOT = Path(__file__).parents[2]
RECIPES = (ROOT / "docs/recipes.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands(page):
    """Return the commands of a page; a line of remarks is none, and a backslash ends no command."""
    text = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    lines = re.findall(r"^    (\S.*)$", re.sub(r"\\\n +", "", text), re.MULTILINE)
    lines = [re.split(r" {2,}#", line)[0] for line in lines if not line.startswith("#")]
    return [re.sub(r"^for .+?; do (.+); done$", r"\1", line) for line in lines]


ARTIFACT = (ROOT / "docs/artifact.md").read_text(encoding="utf-8")
ALONE = (ROOT / "docs/accounting-alone.md").read_text(encoding="utf-8")
OF_README = [line for line in commands(README) if not line.startswith("results/")]
PASTED = list(dict.fromkeys(line for page in (RECIPES, ARTIFACT, ALONE) for line in commands(page)))
PASTED += [line for line in OF_README if line not in PASTED]


def split(command):
    """Return the words of a command without the variables that it is given."""
    found = shlex.split(command)
    return found[1:] if re.match(r"[A-Z_]+=", found[0]) else found


def of(*programs):
    """Return the commands of some programs."""
    return [command for command in PASTED if split(command)[0] in programs]


def done(*words):
    """Return what a command prints in the repository; one that fails is an error."""
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout


QUICK = ("list", "show", "epsilon", "calibrate", "account", "audit")  # of others the arguments are read


PROGRAM = r"(?:[A-Z_]+=\S+ )*(?:make|fedpriv|snakemake|cp|head|git|pip|python|sbatch)\b"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *sorted(glob("docs/*.md", root_dir=ROOT))])
def test_a_block_of_commands_can_be_copied_whole(page):
    text = re.sub(r"```(?!sh).*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = re.findall(rf"^    ({PROGRAM}.*)$", text, re.MULTILINE)
    assert [line for line in lines if re.search(r"\S {2,}[^#\s]", line)] == []


@pytest.mark.parametrize("page", [README, RECIPES, ARTIFACT], ids=["README", "recipes", "artifact"])
def test_two_results_are_compared_after_both_are_there(page):
    there = set()
    for words in map(split, commands(page)):
        there |= {words[number + 1] for number, word in enumerate(words) if word == "--out"}
        if words[:2] == ["fedpriv", "compare"]:
            assert all(word in there or (ROOT / word).exists() or "/" not in word for word in words[2:])


@pytest.mark.parametrize(
    ("claim", "run"),
    [
        ("Without privacy, 300 rounds of FedSGD", "noniid_n100_none"),
        ("The DP column's accuracy is reached", "noniid_n100_dp"),
        ("On MNIST i.i.d. more than 70 %", "iid_n100_joint_bdp"),
        ("An ε of 5, 8 and 10 allows", ""),
    ],
)
def test_the_run_beside_a_claim_is_one_that_its_check_reads(claim, run):
    (line,) = (line for line in ARTIFACT.splitlines() if line.startswith(f"| {claim}"))
    assert line.split(" | ")[-2].strip(" `") == run


def test_every_command_is_of_a_program_that_is_tried_here():
    assert {split(one)[0] for one in PASTED} == {
        "fedpriv",
        "head",
        "make",
        "pip",
        "python",
        "snakemake",
        "source",
    }


@pytest.mark.parametrize("command", of("fedpriv"))
def test_the_program_knows_every_option_and_argument(command):
    _, verb, *rest = split(command)
    group = typer.main.get_command(app)
    context = group.make_context("fedpriv", [verb], resilient_parsing=True)
    _, found, _ = group.resolve_command(context, [verb])
    assert found.make_context(verb, rest, parent=context).params


# Those of a trace of one's own are run by tests/test_wheel.py, without any extra.
@pytest.mark.parametrize(
    "command", [one for one in of("fedpriv") if split(one)[1] in QUICK and ".csv" not in one]
)
def test_what_is_quick_is_run(command):
    assert done(sys.executable, "-m", *split(command)).strip()


@pytest.mark.parametrize("command", of("head"))
def test_what_is_copied_or_looked_at_is_in_git(command):
    assert done("git", "ls-files", "--error-unmatch", split(command)[1])


@pytest.mark.parametrize("command", of("pip"))
def test_what_is_installed_is_a_project_in_git(command):
    assert done("git", "ls-files", "--error-unmatch", f"{split(command)[2]}/pyproject.toml")


@pytest.mark.parametrize("command", of("make"))
def test_what_is_made_is_a_target_and_the_table_or_figure_asked_for_is_there(command, tmp_path):
    _, target, *rest = split(command)
    for asked in set(re.findall(r"show=(\[.*?\])", done("make", "--dry-run", target, *rest, "INSTALLED="))):
        preset = yaml.safe_load((ROOT / f"config/{target}.yaml").read_text(encoding="utf-8"))
        (tmp_path / f"{target}.yaml").write_text(yaml.safe_dump({**preset, "show": yaml.safe_load(asked)}))
        (tmp_path / "papers").symlink_to(ROOT / "config/papers")
        assert any(load_preset(tmp_path / f"{target}.yaml").runs.values())


@pytest.mark.parametrize("command", of("python"))
def test_a_line_of_python_runs(command):
    assert done(sys.executable, *split(command)[1:])


@pytest.mark.parametrize("command", of("snakemake"))
def test_what_goes_to_a_cluster_is_planned(command):
    assert "tables_bdp2019" in done(sys.executable, "-m", *split(command), "--dry-run")


def test_the_package_alone_brings_neither_torch_nor_snakemake():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert not any(one.startswith(("torch", "snakemake")) for one in project["dependencies"])


def run(page, beginning):
    """Run the one block of Python of a page that has these words, in the repository."""
    (code,) = [one for one in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if beginning in one]
    exec(compile(code, "recipe", "exec"), {})


def test_the_three_lines_of_python_count(capsys):
    run(README, "import epsilon")
    assert float(capsys.readouterr().out.split()[2]) == pytest.approx(6.549, abs=1e-3)


def test_the_accuracy_of_each_seed_within_a_budget_is_that_of_the_table(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    run(RECIPES, "affordable_rounds")
    found = pd.DataFrame(map(ast.literal_eval, capsys.readouterr().out.splitlines()))
    seeds = pd.read_csv(ROOT / "results/reference/paper/bdp2019/tables/table2_seeds.csv")
    wanted = seeds[(seeds["row"] == 100) & (seeds["column"] == "tight")]
    assert len(wanted) and found["round"].tolist() == wanted["round"].tolist()
    assert found["test_accuracy"].tolist() == wanted["accuracy"].tolist()


def test_the_epsilons_by_accountant_have_the_tables_own(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    run(RECIPES, "pivot_table")
    printed = capsys.readouterr().out
    assert {"moments", "pld", "rdp"} <= set(printed.split())
    assert re.search(r"C +not a guarantee: .* 7\.62 +5\.77 +6\.66$", printed, re.MULTILINE)  # DP, 100 clients


def test_the_time_of_every_stored_seed_is_told(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    run(RECIPES, "core_seconds")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(list(ROOT.glob("results/reference/runs/bdp2019/iid_n100_*/*.parquet")))
    assert all(float(line.split()[-1]) > 0 for line in lines)


@pytest.mark.parametrize(
    "page", ["recipes", "artifact", "glossary", "guarantees", "stored-runs", "cluster", "findings"]
)
def test_what_answers_a_first_question_is_one_hop_from_the_readme(page):
    assert f"](docs/{page}.md)" in README


def test_the_sweep_is_drawn_from_runs_that_were_trained_and_stored_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for rate in ("0.1", "0.2"):
        write_run(tmp_path / "made", rate, 0, scheme="none", final=float(rate))
        (tmp_path / "my/rate").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"made/{rate}/seed0").rename(tmp_path / "my/rate" / rate)
    run(RECIPES, "my/rate")
    assert (tmp_path / "my/rate.pdf").exists()
