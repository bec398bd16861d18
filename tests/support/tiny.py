"""A preset of one tiny run, and the words that ask for it."""

import yaml

from support.tiny_paper import tiny_paper, write_preset

PLAN = ["--sample-rate", ".3", "--noise-multiplier", "3", "--rounds", "300", "--delta", "1e-3"]
GOAL = ["--epsilon", "8", "--delta", "1e-3", "--sample-rate", ".3", "--rounds", "300"]
BITS = ["--gamma", ".1", "--rounds", "100", "--delta", "1e-5"]
RUN = ["run", "config/tiny.yaml", "--paper", "tiny", "--run", "dp", "--out", "out"]

# The config of a run but for its scheme, whose noise a plan may have to find.
WITHOUT_SCHEME = {
    "dataset": "digits",
    "partition": {"law": "iid", "clients": 100, "examples": 10, "repeat": True},
    "model": "cnn",
    "rounds": 50,
    "account": {"delta": 1e-3},
    "cohort": {"law": "poisson", "rate": 0.3},
}

PRESET = {"preset": "tiny", "papers": ["tiny"], "speed": {"device": "cpu", "threads": 1}}
PAPER = tiny_paper(
    "tiny",
    {
        "dp": {
            "dataset": "digits",
            "partition": {"law": "shards", "clients": 4, "shard_examples": 5},
            "model": {"name": "cnn", "widths": [2, 4]},
            "scheme": {"name": "client_dp", "clip_l2": 0.5, "noise_multiplier": 1.0},
            "cohort": {"law": "poisson", "rate": 0.5},
            "rounds": 2,
            "probe": {"clients": 2},
            "account": {"delta": 1e-3},
        }
    },
    baseline="dp",
    private="dp",
    clients=4,
)


def lay(folder):
    write_preset(folder, PRESET, PAPER)
    return folder


def write(path, content):
    path.write_text(yaml.safe_dump(content))


def patch(here, **changes):
    """Let the preset patch its run."""
    write(here / "config/tiny.yaml", PRESET | {"patches": {"*": changes}})


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
