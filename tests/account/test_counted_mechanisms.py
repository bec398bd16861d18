"""What a trace says was released is what is counted: all that a view sees, and no mechanism unknown."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import torch
from dp_accounting import get_epsilon_gaussian
from scipy.optimize import brentq
from scipy.stats import binom, norm

from fedpriv.account.ledgers import ledger
from fedpriv.mechanisms.sampling import CohortLaw, Fixed, Full, Poisson
from fedpriv.schemes import SCHEMES, ClientDP, Scheme
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.exchange import Hooks, exchange
from fedpriv.streams import Streams
from fedpriv.trace import BEFORE_MECHANISM, MECHANISMS, NO_FACTS, Mechanism

DELTA = 1e-5


def trace_of(scheme: Scheme, hooks: Hooks, law: CohortLaw, sizes: np.ndarray, rounds: int) -> pd.DataFrame:
    """Return the trace of rounds in which clients of these sizes send much more than any bound."""
    rows, memory, streams = [], scheme.memory(4), Streams(5, "declared")
    expected = law.expected(len(sizes))
    for number in range(1, rounds + 1):
        ids = law.draw(len(sizes), streams.numpy("cohort", number))
        known = {"memory": memory, "law": law, "most": int(sizes.max())}
        context = RoundContext(
            number, rounds, len(sizes), expected, sizes[ids], int(sizes.min()), (4,), streams, **known
        )
        sent = torch.full((len(ids), 4), 1e6)
        memory, facts = exchange(scheme, hooks, sent, sent, context, False)[2:]
        rows.append(
            NO_FACTS
            | facts
            | {"round": number, "scheme": scheme.name, "unit": scheme.unit, "mechanism": scheme.mechanism}
            | {"sampling_law": law.law, "sampling_rate": expected / len(sizes), "clear_values": 0}
            | {"population": len(sizes), "cohort_size": len(ids), "test_accuracy": np.nan}
        )
    return pd.DataFrame(rows)


def adaptive(upload_noise_std: float) -> pd.DataFrame:
    """Return five rounds of an adaptive bound whose count takes half of what a round costs."""
    scheme = SCHEMES["adaptive_dp"](clip_l2=1.0, noise_multiplier=2.0, count_share=0.5)
    trace = trace_of(scheme, Hooks(upload_noise_std=upload_noise_std), Full(), np.ones(10, int), 5)
    return ledger(trace, DELTA).query("round == 5")


def test_a_client_that_is_zeroed_out_moves_the_count_of_those_within_the_bound_by_a_whole_one():
    # The sum moves by C: 1/z² of it is half of 1/4. The count moves by 1, twice what its noise is scaled to.
    mu = np.sqrt(5 * (1 / 8 + 4 / 8))
    exact = get_epsilon_gaussian(1 / mu, DELTA)
    rows = adaptive(1e-3).query("relation == 'zero_out' and accounting == ''")
    assert len(rows) == 3 and (rows["epsilon"] >= exact * (1 - 1e-9)).all()
    assert rows.loc[rows["accountant"] == "pld", "epsilon"].item() == pytest.approx(exact, rel=1e-4)
    replaced = adaptive(1e-3).query("relation == 'replace_one' and accounting == '' and accountant == 'pld'")
    assert replaced["epsilon"].item() == pytest.approx(get_epsilon_gaussian(1 / np.sqrt(5), DELTA), rel=1e-4)


def test_a_bit_sent_beside_an_upload_is_hidden_by_no_noise_on_the_upload():
    rows = adaptive(20.0).query("accounting == 'upload'")
    assert len(rows) and np.isinf(rows["epsilon"]).all()


@pytest.mark.parametrize("rounds", [2, 20])
def test_a_clients_coin_is_charged_with_the_least_noise_that_any_client_has(rounds: int):
    sizes = np.full(20, 10)
    sizes[0] = 200  # with a twentieth of the others' noise
    scheme = SCHEMES["nbafl"](epsilon=2.0, constant=20.0, weight_clip=1.0, clip="norm")
    trace = trace_of(scheme, Hooks(), Fixed(size=2), sizes, rounds)
    std, came = 2 * 20 / 2 * rounds / 200, np.arange(rounds + 1)

    def delta(epsilon: float) -> float:
        mu = np.sqrt(np.maximum(came, 1e-9)) / std
        each = norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        return float(binom.pmf(came, rounds, 0.1) @ each)

    exact = brentq(lambda epsilon: delta(epsilon) - DELTA, 0, 200)
    found = ledger(trace, DELTA).query(f"round == {rounds} and accounting == 'drawn' and sensitivity == 'C'")
    assert found["assumptions_met"].all() and (found["epsilon"] >= exact).all()
    unknown = ledger(trace.assign(upload_noise_least=np.nan), DELTA).query("accounting == 'drawn'")
    assert not unknown["assumptions_met"].any() and unknown["unmet"].str.contains("did not come").all()


def test_what_does_not_say_what_it_released_has_no_epsilon_at_all(make_trace):
    for mechanism in ("other", "correlated_gaussian"):
        assert ledger(make_trace().assign(mechanism=mechanism), DELTA).empty
    assert len(ledger(make_trace(), DELTA))
    assert ledger(make_trace().drop(columns="mechanism").assign(scheme="of_a_plug_in"), DELTA).empty


def test_a_scheme_that_overrides_a_verb_says_anew_what_it_releases():
    class Tree(ClientDP):
        def combine(self, bounded, context):
            return super().combine(bounded, context)

    class Named(ClientDP):
        pass

    class Declared(Tree):
        mechanism: ClassVar[Mechanism] = "correlated_gaussian"

    class Quiet:  # no scheme itself
        def combine(self, bounded, context):
            return bounded.updates.sum(0) / context.expected, {}

    class Mixed(Quiet, ClientDP):
        pass

    kinds = Tree, Named, Declared, Mixed
    assert [one.mechanism for one in kinds] == ["other", "gaussian", "correlated_gaussian", "other"]
    plans = [
        one(name="client_dp", clip_l2=1.0, noise_multiplier=2.0).plan(Poisson(rate=0.5), 10, 3)
        for one in kinds
    ]
    assert plans == [None, {"sampling_rate": 0.5}, None, None]


def test_every_scheme_declares_what_traces_of_before_are_taken_to_be():
    assert {name: SCHEMES[name].mechanism for name in BEFORE_MECHANISM} == BEFORE_MECHANISM
    assert {one.mechanism for one in SCHEMES.values()} <= {*MECHANISMS} - {"other"}
