"""How long a preset takes: hours of its papers by the stored runs, and what is left of them."""

import json
from pathlib import Path

from support import tiny

from fedpriv import doctor
from fedpriv.cli import app
from fedpriv.config.plan import load_preset
from fedpriv.config.sizes import RATE, Sizes, Took, work
from fedpriv.progress import duration
from fedpriv.store.machine import cores

ROOT = Path(__file__).parents[2]


def test_the_time_that_is_left_is_that_of_what_is_not_kept_and_a_gpu_takes_what_it_pays_for(here):
    tiny.write(here / "config/tiny.yaml", tiny.PRESET | {"seeds": 3, "speed": {"device": "cuda"}})
    plan = load_preset(here / "config/tiny.yaml")
    seeds = plan.identities("tiny", "dp")
    took = Took({seeds[1]: 7200.0}, {})
    said = doctor.time_of(Sizes(plan, took), {seeds[1], "of another run"}).text
    assert said.endswith(
        "3 trainings; 6.0 h of it ask for a GPU; 4.0 h of one core without the 1 that are stored"
    )
    (run,) = plan.all_runs()
    one = 3 * work(run).passes / RATE  # at all seeds, where nothing is known
    said = f"{duration(one)} of one core, {duration(one / cores())} on these {cores()}: 3 trainings"
    assert doctor.time_of(Sizes(plan, Took({}, {})), ()).text.startswith(said)


def test_the_doctor_says_it_when_asked(here, capsys):
    assert app.main(["doctor", "--time", "config/tiny.yaml", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["time tiny"]["state"] == "ok" and "5 trainings" in found["time tiny"]["text"]
    assert app.main(["doctor", "--json"]) == 0
    assert "time tiny" not in json.loads(capsys.readouterr().out)


def test_a_preset_that_is_not_there_is_refused_in_one_line(here, capsys):
    assert app.main(["doctor", "--time", "nowhere.yaml"]) == 2
    assert capsys.readouterr().err.startswith("fedpriv: No preset 'nowhere.yaml'.")
