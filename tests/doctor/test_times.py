"""How long a preset takes: hours of its papers by the stored runs, and what is left of them."""

import json
from pathlib import Path

import pytest
from support import tiny

from fedpriv import doctor
from fedpriv.cli import app
from fedpriv.config.jobs import INDEX, RATE, Sizes, Took, work
from fedpriv.config.plan import load_preset
from fedpriv.paper.paper import PAPERS
from fedpriv.progress import duration
from fedpriv.store.machine import cores

ROOT = Path(__file__).parents[2]


def test_the_time_that_is_left_is_that_of_what_is_not_kept_and_a_gpu_takes_what_it_pays_for(here):
    tiny.write(here / "config/tiny.yaml", tiny.PRESET | {"seeds": 3, "speed": {"device": "cuda"}})
    plan = load_preset(here / "config/tiny.yaml")
    seeds = plan.identities("tiny", "dp")
    took = Took({seeds[1]: 7200.0}, {})
    said = doctor.time_of(Sizes(plan, took), {seeds[1], "of another run"}).text
    assert said.endswith("3 trainings; a GPU pays for 6.0 h of it; 4.0 h without the 1 that are stored")
    (run,) = plan.all_runs()
    one = 3 * work(run).passes / RATE  # at all seeds, where nothing is known
    said = f"{duration(one)} of one core, {duration(one / cores())} on these {cores()}: 3 trainings"
    assert doctor.time_of(Sizes(plan, Took({}, {})), ()).text.startswith(said)


@pytest.mark.skipif("guarantees" not in PAPERS, reason="fedpriv-studies is not installed")
def test_every_preset_of_a_folder_has_a_line_with_the_hours_of_its_papers():
    found = doctor.times(doctor.presets(ROOT / "config"), lambda _: (), ROOT / INDEX)
    text = {finding.name: finding.text for finding in found}
    assert {"time demo", "time paper", "time guarantees_search"} <= set(text)
    assert all(f"{paper} " in text["time paper"] for paper in ("bdp2019", "nbafl", "global_dp"))


def test_the_doctor_says_it_when_asked(here, capsys):
    assert app.main(["doctor", "--time", "config", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["time tiny"]["state"] == "ok" and "5 trainings" in found["time tiny"]["text"]
    assert app.main(["doctor", "--json"]) == 0
    assert "time tiny" not in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("place", ["nowhere", "config/papers"])
def test_a_place_without_presets_is_refused_in_one_line(place, here, capsys):
    assert app.main(["doctor", "--time", place]) == 2
    assert f"No preset '{place}'." in capsys.readouterr().err
