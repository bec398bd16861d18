"""Whatever is wrong is told at once, early, a line each, and only to whom it matters."""

import copy
import json
import re
import subprocess
import sys
import warnings

import pytest
from support.tiny import BITS, GOAL, PAPER, PLAN, PRESET, RUN, patch, write

HEAVY = {"torch", "pandas", "matplotlib", "dp_accounting", "pyarrow", "scipy"}
STEP = ("step", "train", "config/tiny.yaml", "tiny", "dp/0")


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


# The words of a command


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["fly"], "No such command 'fly'. See: fedpriv help"),
        (["list", "--kind", "papers"], "No such option: --kind. See: fedpriv help list"),
        (["epsilon", *PLAN, "--accountant", "bayesian"], "fedpriv account RUN"),
        (["epsilon", *PLAN, "--accountant", "opacus"], "No accountant 'opacus'"),
        ([*RUN[:-4], "--run", "pd"], "No run 'pd'. There is dp."),
        ([*RUN, "--seed", "-1"], "--seed"),
        ([*RUN, "--device", "tpu"], "--device"),
        ([*RUN, "--dtype", "float8"], "--dtype"),
        ([*RUN, "--threads", "-1"], "--threads"),
        ([*RUN, "--set", "scheme.clip_l3=1"], "scheme.clip_l3"),
        ([*RUN, "--set", "scheme"], "--set scheme is not KEY=VALUE"),
        ([*RUN, "--set", "rounds=3", "--set", "rounds=4"], "--set rounds=4: rounds is set already"),
        ([*RUN, "--set", "server.momentum=0", "--set", "server={}"], "server.momentum is set already"),
        ([*RUN, "--set", "account.delta=1e-320"], "account.delta: found '1e-320', allowed: at least 1e-300"),
        ([*RUN[:-1], "x" * 300], "found a name that is too long here"),
        ([*RUN[:-1], "x" * 300, "--again"], "found a name that is too long here"),
        (
            ["run", "config/papers/tiny/paper.yaml", *RUN[2:]],
            "paper.yaml: found a paper, or a file of one",
        ),
        (["account", "x.json"], "There is no run in 'x.json'."),
        (["epsilon", "--q", ".3", "--delta", "1e-5"], "--noise-multiplier"),
        (["fetch", "digits", "cifar10"], "cifar10"),
        (["fetch", "mnist", "--mirror", "nowhere"], "nowhere"),
        (["run", "config/none.yaml", *RUN[2:]], "config/none.yaml"),
        (["account", "out"], "out"),
        (["account", "config/tiny.yaml"], "found a file, allowed: a run directory"),
        (["compare", "results/tiny/tiny"], "results/tiny/tiny"),
        ([*RUN[:-1], ""], "--out is followed by nothing"),
        (["account", " "], "account is followed by nothing"),
        (["fetch", "digits", "--resources", ""], "--resources is followed by nothing"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else None,
)
def test_what_is_not_there_or_not_allowed_is_named(refused, words, named):
    assert named in refused(*words)


STRANGE = ["nan", "inf", "-1", "0", "5e-324", "1e300", "0.9999999999999999", "1e-12", "abc", "1000000000"]
STRANGE += [str(10**18), str(10**400)]
ASKED = {"epsilon": PLAN, "calibrate": GOAL, "rr-epsilon": [*BITS, "--dimension", "1000", "--clients", "9"]}


@pytest.mark.parametrize(
    ("verb", "option"), [(verb, word) for verb, words in ASKED.items() for word in words[::2]]
)
def test_a_strange_number_is_counted_with_or_refused_in_one_line_that_names_it(fedpriv, verb, option):
    every = [] if verb == "rr-epsilon" else ["--accountant", "all"]
    answered = 0
    for value in STRANGE:
        words = [verb, *ASKED[verb], *every, "--json"]
        words[words.index(option) + 1] = value
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            code, out, err = fedpriv(*words)
        if code == 0:
            answered += 1
            told = json.loads("\n".join(out)).values()
            assert any("epsilon" in statement for statement in told)
            for statement in told:  # or why this accountant cannot
                assert "allowed" in statement.get("found", "") or (
                    statement["epsilon"] >= 0 and statement["delta"] > 0
                )
        else:
            assert (code, out, len(err)) == (2, [], 1)
            assert len(err[0]) < 300 and ("found" in err[0] or option in err[0])
    assert 0 < answered < len(STRANGE)


def test_noise_in_six_digits_is_still_enough(fedpriv):
    _, out, _ = fedpriv("calibrate", *GOAL, "--accountant", "all")
    shown = [words for line in out if (words := line.split())[-1:] in (["moments"], ["rdp"], ["pld"])]
    assert len(shown) == 3
    for noise, accountant in shown:
        words = [*PLAN, "--noise-multiplier", noise, "--accountant", accountant, "--json"]
        _, answer, _ = fedpriv("epsilon", *words)
        assert json.loads("\n".join(answer))["epsilon"] <= 8


# Presets, papers and their runs


def test_one_bad_run_of_a_paper_stops_no_other_from_being_looked_at_trained_or_counted(fedpriv, lines, here):
    assert fedpriv(*RUN)[0] == 0
    patch(here, account={"delta": 1e-4})  # as the preset has it now
    paper_of(here, bad={"rounds": 0})
    assert "bad: rounds: found 0, allowed: at least 1" in lines(*RUN[:-4], "--run", "bad")[0]
    code, out, _ = fedpriv(*RUN)
    assert code == 0 and "was there already" in out[-1]
    assert fedpriv("show", "config/tiny.yaml", "tiny", "dp")[0] == 0
    _, out, _ = fedpriv("account", "out", "--json")
    assert {statement["delta"] for statement in json.loads("".join(out))["statements"]} == {1e-4}
    assert "bad: rounds" in lines(*STEP)[0]  # a workflow makes all of them


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("seeds: !!binary Mg==", "line 4: found Mg==, of the type binary, allowed: a number"),
        ("only: !!set {a: }", "line 4: found a value of the type set, allowed"),
        ("mirrors: [2026-11-29]", "line 4: found 2026-11-29, of the type timestamp, allowed"),
    ],
)
def test_a_value_of_another_type_than_text_numbers_lists_and_keys_is_refused(text, named, lines, here):
    path = here / "config/tiny.yaml"
    path.write_text(f"preset: tiny\npapers: [tiny]\nspeed: {{device: cpu}}\n{text}\n")
    assert re.search(named, lines(*RUN)[0])


def test_a_file_that_would_take_minutes_to_read_is_refused(lines, here):
    path = here / "config/tiny.yaml"
    path.write_text("preset: tiny\n" + "#" * 1_000_000)
    assert "found 1,000,013 bytes, allowed: at most 1,000,000" in lines(*RUN)[0]


@pytest.mark.parametrize("name", ["reference", "runs"])
def test_a_preset_is_not_called_as_a_folder_of_results_that_is_something_else(name, lines, here):
    write(here / "config/tiny.yaml", PRESET | {"preset": name})
    assert f"preset: found {name}, allowed: another name" in lines(*RUN)[0]


def test_every_wrong_key_of_a_run_has_a_line_and_a_misspelt_one_is_not_missing_too(lines, here):
    paper_of(here, dp={"scheme": {"name": "client_dp", "clip_l3": 1.0, "noise": 1}, "rounds": 0})
    found = lines(*RUN)
    keys = ("scheme.clip_l3", "scheme.noise", "rounds")
    assert len(found) == len(keys)
    assert all(any("tiny.runs.dp" in line and f" {key}: " in line for line in found) for key in keys)
    paper_of(here, dp={"scheme": {"name": "client_dp", "clip_l2": 0.5, "noise_multipler": 1.0}})
    (line,) = lines(*RUN)
    assert "noise_multipler: unknown key" in line


def test_mistakes_of_one_file_are_told_together_and_of_several_those_of_the_first(lines, here):
    write(here / "config/tiny.yaml", PRESET | {"seeds": "x", "mirrors": 4})
    paper_of(here, dp={"rouns": 1}, other={"model": "cn"})
    (first, second) = lines(*STEP)
    assert "seeds" in first and "mirrors" in second
    write(here / "config/tiny.yaml", PRESET)
    (first, second) = lines(*STEP)
    assert "rouns" in first and "model" in second


def test_the_same_mistake_of_many_runs_is_one_line(lines, here):
    write(here / "config/tiny.yaml", PRESET | {"patches": {"*": {"rouns": 1}}})
    paper_of(here, second={}, third={})
    (line,) = lines(*STEP)
    assert "tiny.runs.dp: rouns" in line and "2 more runs, third the last" in line


def test_a_file_that_is_no_yaml_is_named_with_the_place(lines, here):
    (here / "config/papers/tiny/claims.yaml").write_text("claims: {\n")
    (line,) = lines(*RUN)
    assert "claims.yaml" in line
    (here / "config/tiny.yaml").write_text("preset: tiny\npapers: [tiny\nseeds: 1\n")
    (line,) = lines(*RUN)
    assert "config/tiny.yaml" in line and "line 3" in line


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"dataset": "cifar10"}, ("cifar10", "mnist")),
        ({"partition": {"clients": 1000}}, ("found 1000", "at most 143")),
        ({"cohort": {"law": "fixed", "size": 5}}, ("found 5",)),
    ],
    ids=str,
)
def test_a_run_that_cannot_be_is_refused_with_what_could(refused, here, wrong, named):
    patch(here, **wrong)
    line = refused(*RUN)
    assert all(word in line for word in named)


def test_nothing_heavy_is_imported_before_a_mistake_is_told(here):
    paper_of(here, dp={"rounds": 0})
    code = (
        "import sys; from fedpriv.cli.app import main; "
        f"code = main({RUN!r}); print(*sys.modules); sys.exit(code)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=here)
    assert said.returncode == 2 and len(said.stderr.splitlines()) == 1
    assert not HEAVY & set(said.stdout.split())


# What a run has left


@pytest.mark.parametrize("found", ["much", {"delta": "much"}, {"delta": 0}, {"detla": 1e-5}, [1]])
def test_a_summary_without_a_delta_is_refused_by_its_name(refused, trained, found):
    from fedpriv.store import summary

    path = trained / "summary.json"
    facts = summary.load_summary(path)
    summary.save_summary(
        path, {name: value for name, value in facts.items() if name != "seal"} | {"account": found}
    )
    assert "out/summary.json: account" in refused("account", "out")


@pytest.mark.parametrize("name", ["trace.parquet", "distances.npz"])
def test_a_corrupt_or_missing_file_of_a_run_is_named(refused, trained, name):
    whole = (trained / name).read_bytes()
    (trained / name).write_bytes(whole[: len(whole) // 2])
    assert name in refused("account", "out")
    (trained / name).unlink()
    assert name in refused("account", "out")
