"""Who says each key of a run, and that what is wrong with one is told with the file and the place."""

from pathlib import Path

import pytest
import yaml
from support.tiny_paper import tiny_paper

from fedpriv.config.plan import Said, lay, layer_of, load_preset, origins
from fedpriv.errors import BadInput

CONFIG = Path(__file__).parents[2] / "config"
RUNS = {
    "plain": {"scheme": "none"},
    "{kind}_n{n}": {"over": {"kind": ["dp"], "n": [2]}, "uses": ["{kind}", "n{n}"], "rounds": 9},
}
PARTS = {
    "noise": {"scheme": {"name": "client_dp", "noise_multiplier": 1.0}},
    "dp": {"uses": ["noise"], "scheme": {"clip_l2": 2.0}},
    "n2": {"partition": {"clients": 2}},
}
DEFAULTS = {
    "dataset": "mnist",
    "model": {"name": "cnn", "widths": [2, 2]},
    "partition": {"law": "iid", "clients": 4, "examples": 10},
    "cohort": "full",
}
PRESET = {
    "preset": "small",
    "papers": ["tiny"],
    "stand_ins": {"mnist": "digits"},
    "patches": {"dp_*": {"rounds": 3}},
}


@pytest.fixture
def load(tmp_path):
    """Return a function that writes a preset and its paper in two files, and plans it."""
    folder = tmp_path / "config/papers/tiny"
    folder.mkdir(parents=True)

    def go(parts=PARTS, runs=RUNS, defaults=DEFAULTS, **preset):
        whole = tiny_paper("tiny", runs, private="dp_n2", defaults=defaults, parts=parts)
        keys = ("defaults", "parts", "runs")
        (folder / "runs.yaml").write_text(yaml.safe_dump({key: whole.pop(key) for key in keys}))
        (folder / "paper.yaml").write_text(yaml.safe_dump(whole))
        path = tmp_path / "config/small.yaml"
        path.write_text(yaml.safe_dump(PRESET | preset))
        return load_preset(path)

    return go


def test_every_key_is_said_by_the_layer_that_said_it_last(load, tmp_path):
    load()
    folder, where = tmp_path / "config/papers/tiny", "config/small.yaml"
    layers = origins(folder, PRESET["stand_ins"], PRESET["patches"], where)
    tree = lay(layers, "tiny", "dp_n2")
    runs = folder / "runs.yaml"
    assert {path: layer_of(tree, path.split(".")) for path in SAID} == {
        path: said.format(runs=runs, where=where) for path, said in SAID.items()
    }
    assert layer_of(lay(layers, "tiny", "plain"), ["scheme", "name"]) == f"{runs}: runs.plain"


SAID = {
    "dataset": "{where}: stand_ins",
    "model.widths": "{runs}: defaults",
    "partition.law": "{runs}: defaults",
    "partition.clients": "{runs}: parts.n2",
    "scheme.name": "{runs}: parts.noise",
    "scheme.clip_l2": "{runs}: parts.dp",
    "rounds": "{where}: patches.dp_*",
    "cohort.law": "{runs}: defaults",
    "cohort.rate": "",
    "probe.clients": "",
}


def test_marked_values_are_laid_as_the_values_themselves():
    plan = load_preset(CONFIG / "laptop.yaml")
    for paper, planned in plan.planned.items():
        layers = origins(CONFIG / "papers" / paper, plan.preset.stand_ins, plan.preset.patches, "")
        for name, one in planned.items():
            assert type(one.run).model_validate(bare(lay(layers, paper, name))) == one.run


def bare(tree):
    """Return what was marked."""
    return (
        tree.value
        if isinstance(tree, Said)
        else {key: bare(one) for key, one in tree.items()}
        if isinstance(tree, dict)
        else tree
    )


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            {"parts": PARTS | {"dp": {"uses": ["noise"], "scheme": {"clip": 2.0}}}},
            "tiny.runs.dp_n2 (FOLDER/runs.yaml: parts.dp): scheme.clip: unknown key (found 2.0), allowed: "
            "name, clip_l2, noise_multiplier",
        ),
        (
            {"parts": PARTS | {"n2": {"partition": {"clients": -2}}}},
            "(FOLDER/runs.yaml: parts.n2): partition.clients: found -2, allowed: at least 1",
        ),
        (
            {"defaults": DEFAULTS | {"dataset": "letters"}},
            "(FOLDER/runs.yaml: defaults): dataset: found letters, allowed: mnist, fashion_mnist",
        ),
        ({"patches": {"plain": {"sedes": 3}}}, "config/small.yaml: patches.plain): sedes: unknown key"),
        ({"runs": RUNS | {"plain": {"uses": ["no"]}}}, "FOLDER/runs.yaml: runs.plain.uses: found no"),
    ],
)
def test_what_is_wrong_with_a_key_of_a_run_is_told_with_who_says_it(said, words, load, tmp_path):
    with pytest.raises(BadInput) as error:
        load(**said)
    assert words.replace("FOLDER", str(tmp_path / "config/papers/tiny")) in str(error.value)
