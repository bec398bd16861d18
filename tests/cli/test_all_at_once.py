"""All that is wrong with a config is told at once, early, and only to whom it matters."""

import copy
import subprocess
import sys

import pytest
from support.tiny import PAPER, PRESET, RUN, write

HEAVY = {"torch", "pandas", "matplotlib", "dp_accounting", "pyarrow", "scipy"}


def paper_of(here, **runs):
    """Write the paper with other keys in its run, and with more runs."""
    paper = copy.deepcopy(PAPER)
    own = runs.pop("dp", {})
    paper["runs"] |= {name: {**copy.deepcopy(paper["runs"]["dp"]), **keys} for name, keys in runs.items()}
    paper["runs"]["dp"] |= own
    write(here / "config/papers/tiny/paper.yaml", paper)


@pytest.fixture
def lines(fedpriv):
    """Run the program on bad input: exit code 2; return its lines, without its name."""

    def call(*words):
        code, out, err = fedpriv(*words)
        assert (code, out) == (2, []) and all(line.startswith("fedpriv: ") for line in err)
        return [line.removeprefix("fedpriv: ") for line in err]

    return call


def test_every_wrong_key_of_a_run_has_a_line(lines, here):
    paper_of(
        here, dp={"scheme": {"name": "client_dp", "clip_l3": 1.0, "noise": 1, "clip_l2": -1}, "rounds": 0}
    )
    found = lines(*RUN)
    keys = ("scheme.clip_l3", "scheme.noise", "scheme.noise_multiplier", "scheme.clip_l2", "rounds")
    assert len(found) == len(keys)
    assert all(any("tiny.runs.dp" in line and f" {key}: " in line for line in found) for key in keys)


def test_a_key_that_is_misspelt_is_not_told_as_missing_too(lines, here):
    paper_of(here, dp={"scheme": {"name": "client_dp", "clip_l2": 0.5, "noise_multipler": 1.0}})
    (line,) = lines(*RUN)
    assert "noise_multipler: unknown key" in line


def test_mistakes_of_the_preset_its_papers_and_their_runs_are_told_together(lines, here):
    write(here / "config/tiny.yaml", PRESET | {"sedes": 3, "mirrors": 4})
    paper_of(here, dp={"rouns": 1}, other={"model": "cn"})
    paper = here / "config/papers/tiny/paper.yaml"
    paper.write_text(paper.read_text() + "notes: 5\n")
    found = lines("step", "train", "config/tiny.yaml", "tiny", "dp/0")
    named = ("sedes", "mirrors", "rouns", "model", "notes")
    assert len(found) == len(named)
    assert all(sum(name in line.partition("allowed")[0] for line in found) == 1 for name in named)


def test_the_same_mistake_of_many_runs_is_one_line(lines, here):
    write(here / "config/tiny.yaml", PRESET | {"patches": {"*": {"rouns": 1}}})
    paper_of(here, second={}, third={})
    (line,) = lines("step", "train", "config/tiny.yaml", "tiny", "dp/0")
    assert (
        "tiny.runs.dp (config/tiny.yaml: patches.*): rouns" in line and "2 more runs, third the last" in line
    )


def test_two_files_that_are_no_yaml_are_two_lines(lines, here):
    folder = here / "config/papers/tiny"
    (folder / "runs.yaml").write_text("runs: [\n")
    (folder / "claims.yaml").write_text("claims: {\n")
    found = lines(*RUN)
    assert len(found) == 2 and "runs.yaml" in found[0] and "claims.yaml" in found[1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"other": {"rouns": 1}},
        {"other": {"uses": ["nothing"]}},
        {"other": {"over": 3}},
        {"o_{n}": {"over": {"n": ["A b"]}}},
    ],
    ids=str,
)
def test_a_mistake_in_another_run_leaves_a_run_alone(wrong, lines, fedpriv, here):
    paper_of(here, **wrong)
    code, out, err = fedpriv(*RUN)
    assert code == 0 and "trained" in out[0] and not any("found" in line for line in err)
    assert lines("step", "train", "config/tiny.yaml", "tiny", "dp/0")


def test_a_mistake_in_a_table_or_a_claim_leaves_a_run_alone(fedpriv, here):
    paper = copy.deepcopy(PAPER)
    paper["tables"]["table1"]["kind"] = "pie"
    write(here / "config/papers/tiny/paper.yaml", paper)
    assert fedpriv(*RUN)[0] == 0


def test_a_run_of_a_family_is_trained_though_another_family_is_wrong(fedpriv, here):
    paper_of(here, **{"n{n}": {"over": {"n": [4, 5]}}, "m{n}": {"over": {"n": [4, 5]}, "rouns": 2}})
    words = list(RUN)
    words[words.index("dp")] = "n4"
    assert fedpriv(*words)[0] == 0


def test_nothing_heavy_is_imported_before_a_mistake_is_told(here):
    paper_of(here, dp={"rouns": 1, "rounds": 0})
    code = (
        "import sys; from fedpriv.cli.app import main; "
        f"code = main({RUN!r}); print(*sys.modules); sys.exit(code)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=here)
    assert said.returncode == 2 and len(said.stderr.splitlines()) == 2
    assert not HEAVY & set(said.stdout.split())
