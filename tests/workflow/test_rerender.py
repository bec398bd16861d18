"""What is rendered from stored runs has the bytes of what the workflow rendered from the runs themselves."""

import json
import shutil
from pathlib import Path

import pytest
from support.tiny import PAPER, PRESET, contents, patch, write

from fedpriv.cli import app
from fedpriv.cli.account import account_run
from fedpriv.frozen import parse
from fedpriv.paper.paper import Paper
from fedpriv.report.collect import collect
from fedpriv.report.paper import write_figures, write_tables

RESULTS, REFERENCE = Path("results/tiny/tiny"), Path("results/reference/tiny/tiny")
FILES = [f"claims{end}" for end in (".csv", "_seeds.csv", ".json", ".md")] + ["details.md"]
FILES += [f"runs.{suffix}" for suffix in ("csv", "json", "md")]
FILES += [f"tables/table1.{suffix}" for suffix in ("csv", "json", "md", "tex")] + ["tables/table1_seeds.csv"]
FILES += [f"figures/epsilons.{suffix}" for suffix in ("json", "md", "png")]


@pytest.fixture(scope="module")
def rendered(trained, tmp_path_factory):
    """A folder with nothing but the preset, kept runs, and what was rendered from the runs."""
    folder = tmp_path_factory.mktemp("rendered") / "here"
    shutil.copytree(trained, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        directories = sorted(RESULTS.glob("runs/*/*"))
        for directory in directories:
            account_run(directory)
        collect(directories, RESULTS)
        declared = parse(Paper.model_validate, PAPER, "tiny")
        write_tables(RESULTS, declared)
        write_figures(RESULTS, declared.figures)
        shutil.copytree(RESULTS, REFERENCE, ignore=shutil.ignore_patterns("*.parquet", "runs"))
        assert app.main(["keep", "results/tiny"]) == 0
    shutil.rmtree(folder / RESULTS)
    shutil.rmtree(folder / "resources")
    return folder


@pytest.fixture
def kept(rendered, tmp_path, monkeypatch):
    """The working folder: a copy of it."""
    folder = shutil.copytree(rendered, tmp_path / "here")
    monkeypatch.chdir(folder)
    return folder


def test_everything_is_rendered_from_what_is_stored_and_what_differs_is_named(kept, fedpriv):
    (REFERENCE / "tables/table1.csv").write_text("other")
    (REFERENCE / "figures/epsilons.png").unlink()
    (REFERENCE / "tables/old.md").write_text("no longer declared")
    differ = ["figures/epsilons.png", "tables/old.md", "tables/table1.csv"]
    (kept / "out").mkdir()  # empty
    code, out, err = fedpriv("rerender", "--write", "--out", "out", "--json")
    assert (code, err) == (0, [])
    assert json.loads("".join(out)) == {
        "tiny/tiny": {"stored": 2, "planned": 5, "files": sorted(FILES), "differ": differ}
    }
    assert Path("out/tiny/report.html").exists() and not RESULTS.exists()
    code, out, _ = fedpriv("rerender")
    assert code == 1 and out == [
        "tiny/tiny: 2 of 5 runs stored, 16 files, 1 differ",
        f"{REFERENCE}/tables/old.md: differs",
    ]


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("results/other", "in results"),
        ("config/../results/reference/new", "in results/reference"),
        ("link/new", "in results"),
        (".", "a folder that is not empty"),
        ("file", "a file"),
    ],
)
def test_nothing_is_rendered_over_what_is_there_and_nothing_compared_with_itself(out, said, kept, fedpriv):
    (REFERENCE / "tables/table1.csv").write_text("damaged")
    (kept / "file").touch()
    (kept / "link").symlink_to("results")
    run = RESULTS / "runs/dp/seed0"
    run.mkdir(parents=True)
    (run / "model.safetensors").write_text("weights of three days")
    before = contents(kept)
    code, lines, err = fedpriv("rerender", "--out", out, "--write")
    assert (code, lines, len(err)) == (2, [], 1) and said in err[0]
    assert contents(kept) == before


def test_a_preset_without_stored_runs_is_said_and_nothing_differs(here, fedpriv):
    assert fedpriv("rerender")[0] == 2  # no reference at all
    REFERENCE.mkdir(parents=True)
    (REFERENCE / "claims.csv").write_text("of old")
    assert fedpriv("rerender") == (0, ["tiny/tiny: no stored runs"], [])


def test_runs_that_the_preset_has_otherwise_now_are_left_out(kept, fedpriv):
    patch(kept, rounds=3)
    assert fedpriv("rerender", "--out", "new/below") == (0, ["tiny/tiny: no stored runs"], [])


def test_a_preset_is_rendered_from_what_others_store_of_its_runs_and_seeds(kept, fedpriv):
    write(Path("config/one.yaml"), PRESET | {"preset": "one", "seeds": 1})
    Path("results/reference/one").mkdir()
    code, out, err = fedpriv("rerender", "--write", "--json")
    assert (code, err) == (0, [])
    found = json.loads("".join(out))
    assert {paper: (one["stored"], one["planned"]) for paper, one in found.items()} == {
        "one/tiny": (1, 1),
        "tiny/tiny": (2, 5),
    }
    assert not found["tiny/tiny"]["differ"]
    code, out, _ = fedpriv("show", "config/one.yaml", "tiny", "dp", "--json")
    (seed,) = json.loads("".join(out))["seeds"].values()
    assert code == 0 and "results/reference/runs/tiny/dp/seed0-" in seed["trace"]


@pytest.mark.parametrize("where", ["results", "reference"])
def test_a_cell_is_shown_with_all_that_is_behind_it(where, kept, fedpriv):
    words = (REFERENCE, "table1", "4", "DP")
    if where == "results":
        shutil.copytree(REFERENCE, RESULTS)
        run = ("run", "config/tiny.yaml", "--paper", "tiny", "--run", "dp", "--seed", "1", "--out")
        assert fedpriv(*run, RESULTS / "runs/dp/seed1")[0] == 0
        words = (RESULTS, *words[1:])
    code, out, err = fedpriv("show", *words, "--json")
    assert (code, err) == (0, [])
    found = json.loads("".join(out))
    (cell,) = found["cells"]
    assert cell["run"] == "dp" and cell["value"] > 0 and cell["epsilons"][0]["unit"] == "client"
    assert [seed["seed"] for seed in found["seeds"]["DP"]] == [0, 1]
    code, out, _ = fedpriv("show", *words)
    assert any("δ = 0.001 (unit client, " in line for line in out)
    assert any("fedpriv show config/tiny.yaml tiny dp" in line for line in out)


def test_what_a_reviewer_asks_of_a_run_is_shown_for_each_of_its_seeds(kept, fedpriv):
    code, out, err = fedpriv("show", "config/tiny.yaml", "tiny", "dp", "--json")
    seeds = json.loads("".join(out))["seeds"]
    stored = {seed: facts for seed, facts in seeds.items() if "hardware" in facts}
    assert (code, err, len(seeds), list(stored)) == (0, [], 5, ["0", "1"])
    for one in stored.values():
        assert all(one[key] for key in ("identity", "results_version", "engine", "hardware", "code", "data"))
