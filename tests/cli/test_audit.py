import json
from pathlib import Path

import pytest
from support.dry_faults import HalfVariance
from support.made_run import RUN, go, write_noise

from fedpriv.cli.app import main
from fedpriv.schemes import SCHEMES

ROOT = Path(__file__).parents[2]

PLAN = ["--q", ".3", "--noise-multiplier", "3", "--rounds", "10", "--delta", "1e-3", "--transcripts", "1000"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audited")
    return go(RUN, write_noise(folder / "noise.npz"), folder / "run")


def told(capsys):
    return json.loads(capsys.readouterr().out)


def test_a_mechanism_is_audited_by_name(capsys):
    assert main(["audit", "--mechanism", "client_dp", *PLAN, "--json"]) == 0
    found = told(capsys)
    assert 0 < found["lower_bound"] < found["epsilon"] and found["confidence"] == 0.95
    assert found["verdict"] == "not refuted" and "knows all except one client's sampling" in found["threat"]
    assert (found["attacked"], found["not_attacked"]) == (["cohort", "bound", "combine"], [])


def test_an_audit_names_the_settings_of_the_mechanism_on_one_line(capsys):
    assert main(["audit", "--mechanism", "nbafl", *PLAN, "--set", "constant=2"]) == 0
    label = "epsilon=2.0, constant=2.0, weight_clip=1.0, scaling=paper, clip=norm, cohort.law=poisson"
    out = capsys.readouterr().out
    assert out.splitlines()[1] == f"nbafl with {label}"
    assert "Attacked: cohort, bound, release, broadcast. Not attacked: nothing." in " ".join(out.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["split", "--set", "clip_uploads=false"],
        ["client_dp", "--set", "cohort.law=fixed"],
        ["client_dp", "--set", "hooks.upload_noise_std=0.01"],
        ["none", "--set", "hooks.clip_upload.bound=0.5", "--set", "hooks.upload_noise_std=2"],
    ],
    ids=" ".join,
)
def test_keys_of_a_scheme_its_hooks_and_its_cohorts_are_set_by_name(arguments, capsys):
    assert main(["audit", "--mechanism", *arguments, *PLAN, "--json"]) == 0
    found = told(capsys)
    assert 0 <= found["lower_bound"] < found["epsilon"]


def test_a_mechanism_with_less_noise_than_it_says_is_refuted_with_exit_code_1(monkeypatch, capsys):
    monkeypatch.setitem(SCHEMES, "client_dp", HalfVariance)
    assert main(["audit", "--mechanism", "client_dp", *PLAN, "--json"]) == 1
    assert told(capsys)["refuted"] is True


def test_a_finished_run_is_accounted_and_audited(run, capsys):
    assert main(["audit", str(run), "--delta", "1e-5", "--json"]) == 0
    found = told(capsys)["findings"]
    assert {"outlier", "followed", "frequency"} <= {one["audit"] for one in found}
    assert all(one["epsilon"] > 0 and one["threat"] for one in found)


def test_a_stored_run_is_attacked_at_the_delta_that_its_paper_counts_at(capsys):
    found = sorted(ROOT.glob("results/reference/runs/bdp2019/noniid_n100_dp/seed0-*.parquet"))
    asked = ["audit", str(found[0])]
    config = ["--configs", str(ROOT / "config")]
    assert main([*asked, *config, "--json"]) == 0
    assert {one["delta"] for one in told(capsys)["findings"]} == {1e-3}
    assert main([*asked, "--configs", "nowhere"]) == 2
    error = capsys.readouterr().err
    assert "a preset in nowhere says it: --delta." in error and error.count("\n") == 1


def test_of_a_run_that_nothing_attacks_it_is_said_why(capsys):
    (path,) = ROOT.glob("results/reference/runs/bdp2019/iid_n100_dp/seed0-761a21c4c691a548.parquet")
    words = ["audit", str(path), "--delta", "1e-3", "--configs", "nowhere"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "nothing of it can be attacked: the server divides by the number of clients who came" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "What is attacked?"),
        (["{run}", "--mechanism", "client_dp"], "What is attacked?"),
        (["{run}", "--q", ".3"], "audit RUN does not take --sample-rate"),
        (["--mechanism", "client_dp", "--q", ".3"], "--noise-multiplier is missing"),
        (["--mechanism", "nobody", *PLAN], "--mechanism: found nobody, allowed: none, client_dp"),
        (["--mechanism", "client_dp", *PLAN, "--q", "2"], "--sample-rate: found 2"),
        (["--mechanism", "none", *PLAN], "--mechanism: found none with these settings, whose facts state no"),
        (["--mechanism", "client_dp", *PLAN, "--set", "x"], "--set x is not KEY=VALUE"),
        (["--mechanism", "client_dp", *PLAN, "--set", "x=1"], "--mechanism client_dp --set: x"),
        (["--mechanism", "client_dp", *PLAN, "--set", "clip_l2=[1"], "--set: clip_l2: found [1"),
        (["--mechanism", "client_dp", *PLAN, "--set", "hooks.x=1"], "--set hooks: x"),
        (["--mechanism", "client_dp", *PLAN, "--set", "hooks=1"], "--set hooks"),
        (["--mechanism", "client_dp", *PLAN, "--set", "cohort=1"], "--set cohort"),
        (["--mechanism", "client_dp", *PLAN, "--set", "cohort.law=x"], "--set cohort.law: found x"),
        (
            ["--mechanism", "client_dp", *PLAN, "--set", "a=1", "--set", "a.b=2"],
            "the key above it is a value already",
        ),
        (["{run}", "--set", "clip_l2=1"], "audit RUN does not take --set"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, said, run, capsys):
    assert main(["audit", *(one.format(run=run) for one in arguments)]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
