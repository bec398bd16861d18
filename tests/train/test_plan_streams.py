"""No two streams of a plan are the same, at the sizes that the presets ask for.

Of the largest preset and the smallest. Left out, for they are most of all: eight rounds of nine, the streams
of batches at other seeds than the first, and all of a third seed, whose names differ from those of two others
as these do from each other.
"""

from array import array
from pathlib import Path

import numpy as np
import pytest
from support.made_run import BY_SCHEME, RUN, go, write_noise

from fedpriv.config.plan import load_preset
from fedpriv.mechanisms.gaussian import sample_positions
from fedpriv.streams import Streams

PRESETS = [Path(__file__).parents[2] / f"config/{name}.yaml" for name in ("paper", "demo")]


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """The names of the streams of each scheme, as a short run asks: once a run, a round, a client."""
    folder, found = tmp_path_factory.mktemp("streams"), {}
    files = write_noise(folder / "noise.npz")
    with pytest.MonkeyPatch.context() as patch:
        key = Streams._key
        for scheme, changes in BY_SCHEME.items():
            asked = set()
            patch.setattr(
                Streams,
                "_key",
                lambda self, *name, asked=asked: (asked.add((self.run, *name)), key(self, *name))[1],
            )
            go(RUN | changes, files, folder / scheme)
            of_run = [name for run, *name in asked if run == "tiny"]
            a_client = {name for name, _, client in of_run if client}
            a_round = {name for name, round, _ in of_run if round} - a_client
            found[scheme] = {name for name, *_ in of_run} - a_round - a_client, a_round, a_client
    return found


def keys(preset, names):
    """Yield the keys of all streams of a preset."""
    plan = load_preset(preset)
    for runs in plan.runs.values():
        for name, run in runs.items():
            once, a_round, a_client = names[run.scheme.name]
            a_client = a_client | ({"signs"} if run.model.stochastic else set())
            population = run.partition.clients
            followed = run.probe.panel if run.scheme.measures else 0
            for seed in plan.seeds[:2]:
                streams = Streams(seed, name)
                a_client = a_client - ({"batches"} if seed else set())
                panel = sample_positions(population, followed, streams.numpy("panel"))
                yield from (streams._key(stream, 0, 0) for stream in once)
                rounds = run.scheme.horizon(run.cohort, population, run.rounds)
                for round in range(1, rounds + 1, 9):
                    cohort = run.cohort.draw(population, streams.numpy("cohort", round))
                    members = np.union1d(cohort, panel).tolist()
                    yield from (streams._key(stream, round, 0) for stream in a_round)
                    yield from (
                        streams._key(stream, round, client) for stream in a_client for client in members
                    )


@pytest.mark.parametrize("preset", PRESETS, ids=lambda path: path.stem)
def test_already_half_of_its_key_tells_a_stream_from_all_others_of_its_plan(preset, names):
    found = np.frombuffer(array("Q", (key % 2**64 for key in keys(preset, names))), dtype=np.uint64)
    assert len(found) > 1000
    assert len(np.unique(found)) == len(found)


def test_a_generator_is_keyed_by_all_of_a_key():
    for client in range(100):
        key = Streams(0, "run")._key("noise", 1, client)
        state = Streams(0, "run").numpy("noise", 1, client).bit_generator.state["state"]
        assert state["key"].tolist() == [key % 2**64, key >> 64]
        assert not state["counter"].any()
