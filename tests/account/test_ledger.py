import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedpriv.account import ACCOUNTANTS, Deltas
from fedpriv.account.ledgers import LEDGER, ledger
from fedpriv.account.runs import account
from fedpriv.account.spend import attacker_accuracy
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


def of_instances(rounds: int, members: int, steps: int = 1) -> dict[str, np.ndarray]:
    """Return distances of instances as a run writes them."""
    rng = np.random.default_rng(0)
    return {
        f"instance_{name}": rng.uniform(0, 1 / 60, (rounds, steps, members, 8)).astype(np.float32)
        for name in DISTANCES
    }


def save(directory: Path, trace: pd.DataFrame, distances: dict[str, np.ndarray]) -> Path:
    """Write the two files of a run directory that accounting reads."""
    directory.mkdir(exist_ok=True)
    parquet.save(trace, directory / "trace.parquet")
    npz.save(directory / "distances.npz", distances)
    return directory


def test_a_ledger_has_exactly_its_columns_and_types(make_trace) -> None:
    frame = ledger(make_trace(rounds=5), DELTAS, sampled(5))
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == LEDGER


def test_every_accountant_writes_every_round_of_every_way_of_counting_once(make_trace) -> None:
    frame = ledger(make_trace(rounds=5), DELTAS, sampled(5))
    ways = ["accounting", "accountant", "composition", "distance", "sensitivity"]
    assert set(frame["accountant"]) == {*ACCOUNTANTS} - {"matrix"}  # of noise that is correlated
    assert (frame.groupby(ways)["round"].apply(list).map(lambda rounds: rounds == [1, 2, 3, 4, 5])).all()
    assert len(frame) == 5 * (3 * 2 + 2 * 3)


def test_epsilon_never_falls_from_round_to_round(make_trace) -> None:
    frame = ledger(make_trace(rounds=25, rate=0.02), DELTAS, sampled(25))
    ways = ["accounting", "accountant", "composition", "distance", "sensitivity"]
    assert (frame.groupby(ways)["epsilon"].diff().dropna() >= -1e-12).all()
    assert (frame["epsilon"] > 0).all()


def test_only_the_bayesian_epsilon_is_an_estimate(make_trace) -> None:
    frame = ledger(make_trace(rounds=3), DELTAS, sampled(3))
    assert set(zip(frame["accountant"] == "bayesian", frame["kind"], strict=True)) == {
        (True, "estimate"),
        (False, "guarantee"),
    }


def test_the_attackers_accuracy_stands_beside_every_epsilon(make_trace) -> None:
    frame = ledger(make_trace(rounds=3), DELTAS, sampled(3))
    np.testing.assert_array_equal(frame["attacker_accuracy"], attacker_accuracy(frame["epsilon"].to_numpy()))


def test_the_relation_of_a_dp_epsilon_follows_its_sensitivity(make_trace) -> None:
    frame = ledger(make_trace(rounds=3), DELTAS)
    found = set(zip(frame["sensitivity"], frame["relation"], strict=True))
    assert found == {("C", "add_remove"), ("2C", "replace_one")}


def test_fixed_cohorts_meet_the_assumptions_of_rdp_alone(make_trace) -> None:
    frame = ledger(make_trace(rounds=3, law="fixed"), DELTAS, sampled(3))
    assert set(zip(frame["accountant"], frame["assumptions_met"], strict=True)) == {
        ("moments", False),
        ("rdp", True),
        ("bayesian", False),
    }


def test_a_clip_bound_taken_from_private_data_voids_every_row_from_then_on(make_trace) -> None:
    trace = make_trace(rounds=4)
    trace.loc[2, "clip_private"] = True
    met = ledger(trace, DELTAS, sampled(4)).groupby("round")["assumptions_met"]
    assert met.any().tolist() == [True, True, False, False]


def test_clients_and_instances_each_have_their_delta_and_their_accountings(make_instances) -> None:
    trace = make_instances(rounds=3, joint=True)
    frame = ledger(trace, DELTAS, of_instances(3, 10) | {"remove_sum": np.full((3, 8), 0.1)})
    found = frame[["unit", "accounting", "delta", "sampling_law"]].drop_duplicates().to_numpy().tolist()
    assert found == [
        ["client", "sum", 1e-5, "full"],
        ["client", "upload", 1e-5, "full"],
        ["instance", "sequential", 1e-6, "poisson"],
        ["instance", "parallel", 1e-6, "poisson"],
    ]
    assert {str(dtype) for dtype in frame.dtypes} == set(LEDGER.values())
    counted = frame.groupby(["accounting", "accountant"]).size() // 3
    assert counted["sum"].to_dict() == {"moments": 2, "rdp": 2, "pld": 2, "bayesian": 2}
    assert counted["parallel"].to_dict() == {"moments": 2, "rdp": 2, "pld": 2, "bayesian": 4}


def test_split_noise_has_rows_of_the_server_and_of_instances(make_instances) -> None:
    trace = make_instances(rounds=3, unit="both", server_multiplier=2.0)
    frame = ledger(trace, DELTAS, sampled(3) | of_instances(3, 10))
    rows = set(zip(frame["unit"], frame["accounting"], strict=True))
    assert rows == {("client", ""), ("instance", "sequential"), ("instance", "parallel")}
    alone = ledger(make_instances(rounds=3), DELTAS, of_instances(3, 10))
    instances = frame[frame["unit"] == "instance"].reset_index(drop=True)
    pd.testing.assert_frame_equal(instances, alone)


def test_which_rows_of_instances_meet_their_assumptions(make_instances) -> None:
    for per_example, met in ((True, {"C", "2C", ""}), (False, {"2C", ""})):
        trace = make_instances(rounds=3, per_example=per_example)
        frame = ledger(trace, DELTAS, of_instances(3, 10))
        assert not frame.loc[frame["accounting"] == "sequential", "assumptions_met"].any()
        parallel = frame[(frame["accounting"] == "parallel") & frame["assumptions_met"]]
        assert set(parallel["sensitivity"]) == met


def test_without_noise_epsilon_is_infinite_and_the_ledger_is_written_all_the_same(make_trace) -> None:
    trace = make_trace(rounds=3, multiplier=0.0, clip=np.inf)
    frame = ledger(trace, DELTAS, sampled(3))
    assert np.isinf(frame["epsilon"]).all()
    assert (frame["attacker_accuracy"] == 1).all()


def test_without_distances_the_ledger_has_no_bayesian_rows(make_trace) -> None:
    assert "bayesian" not in set(ledger(make_trace(rounds=3), DELTAS)["accountant"])


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


def test_accounting_needs_no_torch(make_trace, tmp_path: Path) -> None:
    save(tmp_path, make_trace(rounds=3), sampled(3))
    program = (
        "import sys; from pathlib import Path; from fedpriv.account.runs import account; "
        "from fedpriv.account import Deltas; "
        "account(Path(sys.argv[1]), Deltas()); sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)


@pytest.mark.parametrize("name", ["trace.parquet", "distances.npz"])
@pytest.mark.parametrize("content", [None, b"", b"not a table"])
def test_a_missing_or_corrupt_file_is_named_and_the_old_ledger_is_kept(
    make_trace, tmp_path: Path, name: str, content: bytes | None
) -> None:
    save(tmp_path, make_trace(rounds=3), sampled(3))
    (tmp_path / "ledger.parquet").write_text("old")
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=rf"{name}: found .*, allowed: "):
        account(tmp_path, DELTAS)
    assert (tmp_path / "ledger.parquet").read_text() == "old"


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("round", 7),
        ("sampling_law", "shuffled"),
        ("unit", "household"),
        ("sampling_rate", 0.0),
        ("sampling_rate", 1.5),
        ("clip_l2", np.nan),
        ("noise_std", 9.0),
        ("noise_multiplier", -1.0),
        ("population", 0),
    ],
)
def test_a_column_that_makes_no_sense_is_named(make_trace, column: str, value: object) -> None:
    trace = make_trace(rounds=3)
    trace[column] = trace[column].astype(object)
    trace.loc[1, column] = value
    trace[column] = trace[column].infer_objects()
    with pytest.raises(BadInput, match=rf"trace: {column}: found .*, allowed: "):
        ledger(trace, DELTAS)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("local_steps", 0),
        ("rate_sequential", 0.0),
        ("rate_parallel", 1.5),
        ("instance_clip_l2", np.nan),
        ("instance_noise_std", 9.0),
        ("instance_noise_multiplier", -1.0),
        ("noise_shares", 0),
    ],
)
def test_a_column_about_instances_that_makes_no_sense_is_named(
    make_instances, column: str, value: float
) -> None:
    trace = make_instances(rounds=3, joint=True).astype({column: "float64"})
    trace.loc[1, column] = value
    with pytest.raises(BadInput, match=rf"trace: {column}: found .*, allowed: "):
        ledger(trace, DELTAS)


def test_a_missing_column_is_named(make_trace) -> None:
    with pytest.raises(BadInput, match="trace: found no column clip_l2"):
        ledger(make_trace().drop(columns="clip_l2"), DELTAS)


def test_an_empty_trace_is_refused(make_trace) -> None:
    with pytest.raises(BadInput, match="trace: round: found 0 rows"):
        ledger(make_trace(rounds=0), DELTAS)


@pytest.mark.parametrize(
    "value", [np.zeros((2, 5)), np.zeros(3), np.full((3, 5), -1.0), np.full((3, 5), np.inf)]
)
def test_distances_that_make_no_sense_are_named(make_trace, value: np.ndarray) -> None:
    with pytest.raises(BadInput, match=r"distances: panel_remove_mean: found .*, allowed: "):
        ledger(make_trace(rounds=3), DELTAS, {"panel_remove_mean": value})


@pytest.mark.parametrize("shape", [(3, 1, 10), (3, 2, 10, 8), (3, 1, 9, 8), (2, 1, 10, 8)])
def test_distances_of_instances_must_fit_rounds_steps_and_cohorts(
    make_instances, shape: tuple[int, ...]
) -> None:
    with pytest.raises(
        BadInput, match=r"distances: instance_remove_mean: found shape .*, allowed: \(3, 1, 10"
    ):
        ledger(make_instances(rounds=3), DELTAS, {"instance_remove_mean": np.zeros(shape)})


@pytest.mark.parametrize("name", ["delta", "instance_delta"])
@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, np.nan])
def test_a_delta_out_of_range_is_named(make_trace, name: str, delta: float) -> None:
    with pytest.raises(BadInput, match=rf"^{name}: found .*, allowed: above 0 and below 1$"):
        ledger(make_trace(rounds=3), DELTAS.model_copy(update={name: delta}))
