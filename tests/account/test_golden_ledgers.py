"""Ledgers of runs of every kind, pinned: no number of an account moves without somebody who means it.

Where this fails because a number moved, `ACCOUNT_VERSION` must be raised, and the ledgers of the
reference are made again; only then `python tests/account/test_golden_ledgers.py` writes golden_ledgers.json
anew. That the numbers are right is what the other tests are for.
"""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedpriv.account import ACCOUNT_VERSION, ACCOUNTANTS, Deltas
from fedpriv.account.ledgers import ledger

GOLDEN = Path(__file__).with_name("golden_ledgers.json")
DELTAS = Deltas(delta=1e-5, instance_delta=1e-6)
PINNED = 2  # the version of accounts whose numbers they are
ROUNDS, CLIENTS = 12, 10
OF_STUDIES = ("dp_ftrl, in turn, tree", "dp_ftrl, in turn, banded", "dp_ftrl, everybody")
KEY = ["accounting", "accountant", "composition", "distance", "sensitivity", "relation", "unit", "violation"]


def distances(steps: int = 0, bound: float = 1.0) -> dict[str, np.ndarray]:
    """Return distances as a run samples them: of clients, of a panel, of instances; a cohort was empty."""
    rng = np.random.default_rng(3)
    largest = {"remove_sum": 1.0, "remove_mean": 2.0}
    found = {name: rng.uniform(0, most, (ROUNDS, 9)) for name, most in largest.items()}
    found |= {f"panel_{name}": rng.uniform(0, most, (ROUNDS, 5)) for name, most in largest.items()}
    of_steps = (ROUNDS, steps, CLIENTS, 6)
    found |= {f"instance_{name}": bound * rng.uniform(0, most, of_steps) for name, most in largest.items()}
    found["remove_sum"][4] = np.nan
    return found if steps else {name: one for name, one in found.items() if "instance" not in name}


def turns(trace: pd.DataFrame, matrix: str, law: str) -> pd.DataFrame:
    """Return a trace of correlated noise, of clients who come in turn or of everybody."""
    most = {"participations": 4, "rounds_apart": 3} if law == "spaced" else {}
    from fedpriv_studies.correlated import MATRICES, Turns

    kind = MATRICES[matrix].planned(Turns(ROUNDS, 4 if most else ROUNDS, 3 if most else 1), 0)
    return trace.assign(mechanism="correlated_gaussian", **most, **kind.facts())


def runs(make_trace: Callable, make_instances: Callable) -> dict[str, tuple[pd.DataFrame, dict]]:
    """Return the traces and distances that are pinned, by kind."""
    sizes = [4, 5, 6, 5, 4, 7, 3, 5, 0, 6, 5, 4]
    of_clients, of_all = distances(), distances(2, 1 / 60)
    joint = make_instances(ROUNDS, CLIENTS, 40.0, steps=2, joint=True, cohorts=sizes)
    split = make_instances(ROUNDS, CLIENTS, 2.0, steps=2, unit="both", server_multiplier=3.0, cohorts=sizes)
    bits = make_trace(ROUNDS, 1.0, 0.0, law="full", clip=np.inf, population=CLIENTS)
    uploads = make_trace(ROUNDS, 0.3, 0.0, clip=np.inf, population=CLIENTS)
    found = {
        "client_dp": (make_trace(ROUNDS, 0.3, 3.0, population=CLIENTS), of_clients),
        "client_dp, mean of those present": (
            make_trace(ROUNDS, 0.3, 3.0, population=CLIENTS).assign(denominator="present"),
            of_clients,
        ),
        "global_dp, cohorts of a fixed size": (make_trace(ROUNDS, 0.3, 1.0, law="fixed"), of_clients),
        "adaptive_dp": (make_trace(ROUNDS, 0.3, 3.0).assign(count_noise_multiplier=5.0), of_clients),
        "joint": (joint, of_all),
        "joint, topped up": (joint.assign(topped_up=True, noise_shares=9), of_all),
        "split": (split, of_all),
        "instance, means clipped": (
            make_instances(ROUNDS, CLIENTS, 2.0, per_example=False),
            distances(1),
        ),
        "instance, several hold one": (make_instances(ROUNDS, CLIENTS).assign(holders=2), {}),
        "nbafl": (
            uploads.assign(unit="none", upload_l2=0.5, upload_noise_std=1.0, upload_noise_least=0.8),
            {},
        ),
        "dpfl_bnn": (
            bits.assign(mechanism="randomized_response", gamma=0.1, flips="coordinate", noisy_bits=100),
            {},
        ),
    }
    if "matrix" in ACCOUNTANTS:  # where fedpriv-studies is installed
        third = make_trace(ROUNDS, 1 / 3, 3.0, law="spaced", population=9)
        everybody = make_trace(ROUNDS, 1.0, 3.0, law="full", population=9)
        found |= {
            "dp_ftrl, in turn, tree": (turns(third, "tree", "spaced"), {}),
            "dp_ftrl, in turn, banded": (turns(third, "banded", "spaced"), {}),
            "dp_ftrl, everybody": (turns(everybody, "blt", "full"), {}),
        }
    return found


def told(trace: pd.DataFrame, sampled: dict[str, np.ndarray]) -> dict[str, list[float]]:
    """Return of every way of counting ε after the first round, the middle one and the last."""
    frame = ledger(trace, DELTAS, sampled)
    some = frame[frame["round"].isin([1, ROUNDS // 2, ROUNDS])]
    return {
        ", ".join(filter(None, map(str, key))): [float(f"{one:.12g}") for one in rows["epsilon"]]
        for key, rows in some.groupby(KEY, sort=False)
    }


def test_every_ledger_has_the_numbers_that_are_pinned(make_trace, make_instances) -> None:
    golden = json.loads(GOLDEN.read_text())
    found = {name: told(*run) for name, run in runs(make_trace, make_instances).items()}
    assert {*golden} - {*found} <= {*OF_STUDIES}
    assert {name: [*one] for name, one in found.items()} == {name: [*golden[name]] for name in found}
    for name, one in found.items():
        for way, epsilons in one.items():
            # In the last digits processors differ, and the root of a small ε makes more of them.
            assert epsilons == pytest.approx(golden[name][way], rel=1e-8), f"{name}: {way}"
    assert PINNED == ACCOUNT_VERSION


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    import conftest

    plain = conftest.make_trace.__wrapped__()
    pinned = {
        name: told(*run) for name, run in runs(plain, conftest.make_instances.__wrapped__(plain)).items()
    }
    text = json.dumps(pinned, indent=1, ensure_ascii=False)
    GOLDEN.write_text(re.sub(r"\[\s+(.*?),\s+(.*?),\s+(.*?)\s+\]", r"[\1, \2, \3]", text) + "\n")
