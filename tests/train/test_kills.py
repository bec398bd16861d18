"""A run that is killed at any moment, and started again, ends with the same bits.

`make explore` kills runs of every scheme, as many as FEDPRIV_KILLS says. test_resume holds the same of all
schemes, killed between rounds, and tests/store of one, killed at the moments that are worst.
"""

import os
import random
import time
from functools import partial
from signal import SIGKILL

import pytest
from support.child import Child, live
from support.made_run import BY_SCHEME, RUN, go, result

KILLS = int(os.environ.get("FEDPRIV_KILLS", "0"))


@pytest.mark.skipif(not KILLS, reason="make explore kills runs at random moments")
@pytest.mark.parametrize("scheme", BY_SCHEME)
def test_a_run_that_was_killed_at_any_moment_ends_with_the_same_bits(scheme, files, tmp_path):
    run = RUN | BY_SCHEME[scheme] | {"rounds": 30}
    train = partial(train_quietly, run, files, checkpoint_every=2, threads=2)
    started = time.perf_counter()
    assert live(tmp_path, partial(train, tmp_path / "undisturbed")).code == 0
    undisturbed, lasted = result(tmp_path / "undisturbed"), time.perf_counter() - started
    chance, kills, tries = random.Random(scheme), 0, 0
    while kills < KILLS:
        tries += 1
        out = tmp_path / f"killed{tries}"
        child = Child(tmp_path, partial(train, out))
        time.sleep(moment := chance.uniform(0, lasted))
        child.process.kill()
        if child.end().code == -SIGKILL:
            kills += 1
        else:  # it was done before: the first one may have lasted longer, on a busier machine
            lasted = moment
        assert live(tmp_path, partial(train, out)).code == 0
        assert result(out) == undisturbed
        assert tries < 10 * KILLS


def train_quietly(run, files, out, **speed):
    """Train as `go` does, and return nothing: a process whose work returns a number exits with it."""
    go(run, files, out, **speed)
