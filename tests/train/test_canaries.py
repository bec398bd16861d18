import numpy as np
import pytest
from support.made_run import RUN, go, result, write_noise

from fedpriv.account import Deltas
from fedpriv.account.runs import account
from fedpriv.audit.finished import audit_run
from fedpriv.config.run import Run
from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.store import npz

CANARIES = {"canaries": {"clients": 40, "included": 0.5}}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_noise(tmp_path_factory.mktemp("noise") / "noise.npz")


@pytest.fixture(scope="module")
def planted(files, tmp_path_factory):
    """Return the finished run of little noise that has canaries in it."""
    loud = RUN | CANARIES | {"scheme": RUN["scheme"] | {"noise_multiplier": 0.2}}
    return go(loud, files, tmp_path_factory.mktemp("planted"))


def test_canaries_that_never_take_part_change_no_bit_of_a_run(files, tmp_path):
    nobody = RUN | {"canaries": {"clients": 40, "included": 0.0}}
    plain, other = (result(go(run, files, tmp_path / name)) for name, run in {"a": RUN, "b": nobody}.items())
    assert plain[0] == other[0] and plain[2] == other[2]
    assert plain[1] == {name: array for name, array in other[1].items() if not name.startswith("canary_")}


def test_what_a_sum_shows_of_a_canary_is_noise_unless_it_came(planted):
    found = npz.load_all(planted / "distances.npz", "distances")
    seen, there = found["canary_seen"], found["canary_included"][0] > 0
    assert seen.shape == (RUN["rounds"], 40) and 5 < there.sum() < 35
    came = seen[:, there].mean()
    assert came == pytest.approx(0.5, abs=0.2)  # the rate of cohorts
    assert np.abs(seen[:, ~there].mean()) < 0.15


def test_the_last_model_has_moved_towards_the_canaries_that_took_part(planted):
    found = npz.load_all(planted / "distances.npz", "distances")
    (cosines,), there = found["canary_cosines"], found["canary_included"][0] > 0
    assert cosines.shape == (40,)
    assert cosines[there].mean() > 0.04 > np.abs(cosines[~there].mean()) * 2
    account(planted, Deltas(delta=1e-3, instance_delta=1e-5))
    assert "final_model" in {one.audit for one in audit_run(planted)}


def test_canaries_of_a_run_show_a_lower_bound_under_its_epsilon(planted):
    account(planted, Deltas(delta=1e-3, instance_delta=1e-5))
    found = next(one for one in audit_run(planted) if one.audit == "canaries")
    assert 0 < found.lower_bound < found.epsilon and not found.refuted and "1 run" in found.cost


@pytest.mark.parametrize(
    "change",
    [
        {"scheme": "none"},
        {"cohort": {"law": "fixed", "size": 4}},
        {"scheme": RUN["scheme"] | {"denominator": "present"}},
    ],
)
def test_a_run_that_canaries_would_not_audit_refuses_them(change):
    with pytest.raises(BadInput, match=r"canaries|present"):
        parse(Run.model_validate, RUN | CANARIES | change, "run")
