"""Randomised response in a trace: what is counted, for whom, and what no flip hides."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from fedpriv.account import Deltas, randomized_response
from fedpriv.account.check import checked
from fedpriv.account.ledgers import ledger
from fedpriv.account.randomized_response import response_views
from fedpriv.account.views import views
from fedpriv.errors import BadInput

DELTAS = Deltas(delta=1e-5, instance_delta=1e-6)
BITS = 81_958

# Readings of a ledger, by (accounting, sensitivity, accountant).
COLUMNS = [
    ("upload", "bit", "rdp"),
    ("upload", "bit", "exact"),
    ("upload", "bit", "theorem"),
    ("upload", "bits", "rdp"),
    ("sum", "bit", "rdp"),
    ("sum", "bits", "rdp"),
]
# The same readings, as `randomized_response` names them.
NAMES = (
    *("bit_rdp", "bit_exact", "bit_theorem", "vector_rdp"),
    *("central_bit_rdp", "central_vector_rdp"),
)


@pytest.fixture(scope="module")
def make_bits(make_trace) -> Callable[..., pd.DataFrame]:
    """Return a builder of traces of randomised response: 100 clients, all of them in every round."""

    def build(rounds: int = 5, gamma: float = 0.1, **facts: object) -> pd.DataFrame:
        trace = make_trace(rounds, 1.0, 0.0, law="full", clip=np.inf, population=100)
        bits = {"gamma": gamma, "flips": "coordinate", "noisy_bits": BITS}
        return trace.assign(**({"mechanism": "randomized_response"} | bits | facts))

    return build


def at_end(trace: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    """Return ε after the last round by accounting, sensitivity and accountant."""
    frame = ledger(trace, DELTAS)
    last = frame[frame["round"] == frame["round"].max()]
    return last.set_index(["accounting", "sensitivity", "accountant"])["epsilon"].to_dict()


def test_after_every_round_a_ledger_is_what_one_calculation_gives(make_bits) -> None:
    frame = ledger(make_bits(7), DELTAS)
    key = ["round", "accounting", "sensitivity", "accountant"]
    found = frame.set_index(key)["epsilon"]
    for rounds in (1, 4, 7):
        expected = randomized_response.epsilons(0.1, rounds, DELTAS.delta, BITS, clients=100)
        for column, name in zip(COLUMNS, NAMES, strict=True):
            assert found[(rounds, *column)] == pytest.approx(expected[name].epsilon, rel=1e-6)


def test_one_bit_is_not_called_a_client_and_neighbours_are_replaced(make_bits) -> None:
    frame = ledger(make_bits(), DELTAS)
    units = set(zip(frame["sensitivity"], frame["unit"], strict=True))
    assert units == {("bit", "one bit of a client"), ("bits", "all bits of a client"), ("all", "client")}
    assert set(frame["relation"]) == {"replace_one"} and set(frame["sampling_law"]) == {"full"}
    assert set(frame["delta"]) == {DELTAS.delta} and set(frame["kind"]) == {"guarantee"}


def test_noise_elsewhere_is_not_counted_beside_randomised_response(make_bits) -> None:
    trace = make_bits(unit="client", upload_noise_std=1.0, upload_l2=1.0)
    assert views(checked(trace), {}) == []


def test_a_trace_without_noisy_bits_has_no_readings(make_trace) -> None:
    assert list(response_views(checked(make_trace()))) == []


def test_fair_coins_reveal_nothing_and_no_coins_reveal_everything(make_bits) -> None:
    assert set(at_end(make_bits(gamma=0.0)).values()) == {0.0}
    assert set(at_end(make_bits(gamma=0.5)).values()) == {np.inf}


@pytest.mark.parametrize(
    ("facts", "revealed"), [({"flips": "tensor"}, {"bits", "all"}), ({"clear_values": 568}, {"all"})]
)
@pytest.mark.parametrize("gamma", [0.0, 0.1])
def test_one_coin_a_tensor_hides_no_bits_and_values_in_the_clear_hide_no_client(
    make_bits, facts: dict, revealed: set, gamma: float
) -> None:
    found = at_end(make_bits(gamma=gamma, **facts))
    assert {sensitivity for (_, sensitivity, _), epsilon in found.items() if np.isinf(epsilon)} == revealed
    hidden = at_end(make_bits(gamma=gamma))
    assert all(hidden[key] == epsilon for key, epsilon in found.items() if np.isfinite(epsilon))


def test_a_client_that_sends_bits_alone_is_its_bits(make_bits) -> None:
    found = at_end(make_bits())
    assert all(found[where, "all", "rdp"] == found[where, "bits", "rdp"] for where in ("upload", "sum"))


def test_one_bit_under_one_coin_a_tensor_is_hidden_from_nobody_who_sees_another(make_bits) -> None:
    frame = ledger(make_bits(flips="tensor"), DELTAS)
    assert not frame.loc[frame["sensitivity"] == "bit", "assumptions_met"].any()
    assert ledger(make_bits(), DELTAS)["assumptions_met"].all()


def test_a_sum_hides_as_the_smallest_cohort_does(make_bits) -> None:
    few = at_end(make_bits(3, cohort_size=[100, 10, 40]))
    assert few == at_end(make_bits(3, cohort_size=10))
    alone = at_end(make_bits(3, cohort_size=[5, 0, 5]))
    assert alone["sum", "bits", "rdp"] == alone["upload", "bits", "rdp"]


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"gamma": [0.1, 0.2]}, "gamma: found 0.1, 0.2, allowed: one value"),
        ({"noisy_bits": [0, 10]}, "noisy_bits: found 0, 10, allowed: one value"),
        ({"gamma": 0.6}, "gamma: found 0.6, allowed: 0 to 0.5"),
        ({"flips": "row"}, "flips: found row, allowed: one of , coordinate, tensor"),
        ({"flips": ""}, "flips: found nothing"),
    ],
)
def test_bits_that_make_no_sense_are_named(make_bits, facts: dict, named: str) -> None:
    with pytest.raises(BadInput, match=named):
        ledger(make_bits(2, **facts), DELTAS)
