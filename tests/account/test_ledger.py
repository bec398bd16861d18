from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedpriv.account import ACCOUNTANTS, Deltas
from fedpriv.account.ledgers import LEDGER, ledger
from fedpriv.account.runs import account
from fedpriv.account.statement import attacker_accuracy
from fedpriv.errors import BadInput
from fedpriv.store import npz, parquet
from fedpriv.trace import DISTANCES, MISSING

DELTAS = Deltas(delta=1e-5, instance_delta=1e-6)


def sampled(rounds: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Return distances as a run writes them: one cohort was empty."""
    rng = np.random.default_rng(seed)
    found = {}
    for prefix, size in (("", 12), ("panel_", 8)):
        for name in DISTANCES:
            found[prefix + name] = rng.uniform(0, 1, (rounds, size))
    for name in DISTANCES:
        found[name][rounds // 2] = np.nan
    return found


def save(directory: Path, trace: pd.DataFrame, distances: dict[str, np.ndarray]) -> Path:
    """Write the two files of a run directory that accounting reads."""
    directory.mkdir(exist_ok=True)
    parquet.save_frame(trace, directory / "trace.parquet")
    npz.save_npz(directory / "distances.npz", distances)
    return directory


WAYS = ["accounting", "accountant", "composition", "distance", "sensitivity"]


def test_a_ledger_has_its_columns_every_round_of_every_way_of_counting_and_an_epsilon_that_never_falls(
    make_trace,
) -> None:
    frame = ledger(make_trace(rounds=25, rate=0.02), DELTAS, sampled(25))
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == LEDGER
    np.testing.assert_array_equal(frame["attacker_accuracy"], attacker_accuracy(frame["epsilon"].to_numpy()))
    counting = {
        name: one
        for name, one in ACCOUNTANTS.own.items()
        if "gaussian" in one.mechanisms and "poisson" in one.laws
    }
    assert set(frame["accountant"]) == {*counting}
    by_estimates = sum(len(one.compositions) * len(one.distances) for one in counting.values())
    by_sensitivities = sum(len({"C", "2C"} & {*one.sensitivities}) for one in counting.values())
    assert len(frame) == 25 * (by_estimates + by_sensitivities)
    assert (frame.groupby(WAYS)["round"].apply(list).map(lambda rounds: rounds == [*range(1, 26)])).all()
    assert (frame.groupby(WAYS)["epsilon"].diff().dropna() >= -1e-12).all() and (frame["epsilon"] > 0).all()


def test_a_clip_bound_taken_from_private_data_voids_every_row_from_then_on(make_trace) -> None:
    trace = make_trace(rounds=4)
    trace.loc[2, "clip_private"] = True
    met = ledger(trace, DELTAS, sampled(4)).groupby("round")["assumptions_met"]
    assert met.any().tolist() == [True, True, False, False]


def test_without_noise_epsilon_is_infinite_and_the_ledger_is_written_all_the_same(make_trace) -> None:
    trace = make_trace(rounds=3, multiplier=0.0, clip=np.inf)
    frame = ledger(trace, DELTAS, sampled(3))
    assert np.isinf(frame["epsilon"]).all()
    assert (frame["attacker_accuracy"] == 1).all()


def test_accounting_a_directory_writes_the_ledger_of_its_files(make_trace, tmp_path: Path) -> None:
    trace, distances = make_trace(rounds=4), sampled(4)
    written = account(save(tmp_path, trace, distances), DELTAS)
    assert written == tmp_path / "ledger.parquet"
    pd.testing.assert_frame_equal(pd.read_parquet(written), ledger(trace, DELTAS, distances))


def test_a_trace_from_before_there_was_noise_on_clients_can_be_accounted(make_trace, tmp_path: Path) -> None:
    trace = make_trace(rounds=4)
    older = trace.drop(columns=list(MISSING), errors="ignore")
    written = account(save(tmp_path, older, {}), DELTAS)
    pd.testing.assert_frame_equal(pd.read_parquet(written), ledger(trace, DELTAS))


def test_an_empty_trace_is_refused(make_trace) -> None:
    with pytest.raises(BadInput, match="trace: round: found 0 rows"):
        ledger(make_trace(rounds=0), DELTAS)


@pytest.mark.parametrize(
    "value", [np.zeros((2, 5)), np.zeros(3), np.full((3, 5), -1), np.full((3, 5), np.inf)]
)
def test_distances_that_make_no_sense_are_named(make_trace, value: np.ndarray) -> None:
    with pytest.raises(BadInput, match=r"distances: panel_remove_mean: found .*, allowed: "):
        ledger(make_trace(rounds=3), DELTAS, {"panel_remove_mean": np.array(value)})


@pytest.mark.parametrize("shape", [(3, 1, 10), (3, 2, 10, 8), (3, 1, 9, 8), (2, 1, 10, 8)])
def test_distances_of_instances_must_fit_rounds_steps_and_cohorts(make_instances, shape) -> None:
    name = "instance_remove_mean"
    with pytest.raises(BadInput, match=rf"distances: {name}: found shape .*, allowed: \(3, 1, 10"):
        ledger(make_instances(rounds=3), DELTAS, {name: np.zeros(shape)})


@pytest.mark.parametrize(("name", "delta"), [("delta", 0.0), ("instance_delta", 1.0), ("delta", np.nan)])
def test_a_delta_out_of_range_is_named(make_trace, name: str, delta: float) -> None:
    with pytest.raises(BadInput, match=rf"^{name}: found .*, allowed: above 0 and below 1$"):
        ledger(make_trace(rounds=3), DELTAS.model_copy(update={name: delta}))
