"""The noise of all rounds is W z with W C = 1: what is released is C x + z, whatever else is made of it."""

import contextlib

import numpy as np
import pandas as pd
import pytest
import torch
from fedpriv_studies import correlated
from fedpriv_studies.correlated import (
    MATRICES,
    STREAM,
    Banded,
    Blt,
    Tree,
    Turns,
    best,
    matrix_of,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.made_run import BY_SCHEME, RUN, go
from support.matrices import decoder, encoder, nodes

from fedpriv.account import ledger, statements
from fedpriv.config.run import Run
from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.streams import Streams

SERIES = Blt(((0.25, 0.75), (0.125, 0.984375), (0.0625, 0.0)))
each_matrix = pytest.mark.parametrize(
    "matrix", [Tree(), Banded(1), Banded(4), Banded(100), SERIES, Blt.planned(Turns(40, 4, 10), 0)], ids=str
)


def noise_of(matrix, rounds, run="x"):
    like = torch.zeros(50, dtype=torch.float64)
    return torch.stack([matrix.noise(Streams(3, run), t, like) for t in range(1, rounds + 1)])


@each_matrix
@pytest.mark.parametrize("rounds", [1, 8, 31])
def test_what_is_decoded_is_what_was_encoded(matrix, rounds):
    made = decoder(matrix, rounds) @ encoder(matrix, rounds)
    np.testing.assert_allclose(made, np.eye(rounds), atol=1e-10)


@each_matrix
def test_the_noise_of_a_round_is_its_row_of_independent_normals(matrix):
    rounds, streams = 21, Streams(3, "x")
    keys = nodes(rounds) if isinstance(matrix, Tree) else [(t, 0) for t in range(1, rounds + 1)]
    normals = [streams.noise(STREAM, *key).like(torch.zeros(50, dtype=torch.float64)) for key in keys]
    expected = decoder(matrix, rounds) @ torch.stack(normals).numpy()
    np.testing.assert_allclose(noise_of(matrix, rounds), expected, atol=1e-12)


@each_matrix
def test_a_round_has_the_same_noise_whatever_was_drawn_before(matrix):
    whole, zeros = noise_of(matrix, 20), torch.zeros(50, dtype=torch.float64)
    noise_of(matrix, 3, "another")  # so that nothing of this one is left
    alone = [matrix.noise(Streams(3, "x"), t, zeros) for t in (20, 20, 7, 12)]
    assert torch.equal(torch.stack(alone), whole[[19, 19, 6, 11]])
    assert not torch.equal(whole[-1], noise_of(matrix, 20, "another")[-1])


@pytest.mark.parametrize("matrix", [Banded(4), SERIES], ids=str)
def test_a_next_round_draws_once_however_many_rounds_there_were(matrix, monkeypatch):
    noise_of(matrix, 20)
    drawn, draw = [], Streams.noise
    monkeypatch.setattr(Streams, "noise", lambda *of: drawn.append(of[2]) or draw(*of))
    matrix.noise(Streams(3, "x"), 21, torch.zeros(50, dtype=torch.float64))
    assert drawn == [21]


@pytest.mark.parametrize("matrix", [Banded(4), SERIES], ids=str)
@pytest.mark.parametrize("at", [1, 2, 5])
def test_a_round_that_was_interrupted_has_its_noise_all_the_same(matrix, at, monkeypatch):
    whole, zeros = noise_of(matrix, 20), torch.zeros(50, dtype=torch.float64)
    noise_of(matrix, 10)
    with monkeypatch.context() as patch:
        calls, add = [], torch.Tensor.add_
        patch.setattr(
            torch.Tensor, "add_", lambda *of: calls.append(1) or (add(*of) if len(calls) < at else 1 / 0)
        )
        with contextlib.suppress(ZeroDivisionError):
            matrix.noise(Streams(3, "x"), 12, zeros)
    assert torch.equal(matrix.noise(Streams(3, "x"), 12, zeros), whole[11])


@each_matrix
def test_a_trace_says_all_of_a_matrix(matrix):
    assert matrix_of(matrix.facts()) == matrix


def rms_error(matrix, rounds, times, apart):
    """Return the root mean square of the noise in all partial sums where a client moves C x by 1 at most."""
    (square,) = matrix.squares([rounds], times, apart)
    partial = np.tril(np.ones((rounds, rounds))) @ decoder(matrix, rounds)
    return np.sqrt(square * (partial**2).sum(axis=1).mean())


@pytest.mark.parametrize(
    "turns",
    [(300, 90, 3), (300, 30, 10), (300, 3, 100), (300, 1, 300), (100, 3, 33), (10, 3, 3), (40, 40, 1)],
)
def test_a_blt_has_hardly_more_error_than_a_banded_matrix_and_for_many_turns_less(turns):
    turns = Turns(*turns)
    series, banded = (rms_error(kind.planned(turns, 0), *turns) for kind in (Blt, Banded))
    assert series < (0.99 if turns.times == 30 else 1.045) * banded
    assert series < rms_error(Tree(), *turns)


@settings(deadline=None)
@given(st.integers(1, 200), st.integers(1, 50), st.integers(1, 100), st.integers(0, 9))
@example(100, 3, 33, 0)
@example(300, 3, 100, 0)
@example(40, 40, 1, 0)
def test_what_is_planned_is_exact_in_float32_and_the_same_on_a_processor_that_rounds_otherwise(
    rounds, times, apart, seed
):
    turns, rng = Turns(rounds, min(times, -(-rounds // apart)), apart), np.random.default_rng(seed)

    def elsewhere(exact):
        return lambda *of: (right := exact(*of)) * (1 + 2e-16 * rng.integers(-4, 5, right.shape))

    planned = Blt.planned(turns, 0)
    best.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("sums", "_diagonals", "_scales"):
            patch.setattr(correlated, name, elsewhere(getattr(correlated, name)))
        assert planned == Blt.planned(turns, 0)
    assert (np.array(planned.series) == np.array(planned.series, dtype=np.float32)).all()


@pytest.mark.parametrize(
    "numbers", ["", "x", "0.5", "0.5:1", "0.5:-0.1", "nan:0.5", "0.6:0.5 0.6:0.4", "1:2:3"]
)
def test_numbers_of_no_blt_are_one_line_that_names_what_is_allowed(numbers):
    with pytest.raises(BadInput, match=r"^trace: numbers: found .*, allowed with matrix blt: SCALE:DECAY"):
        matrix_of({"matrix": "blt", "numbers": numbers})


def test_the_square_root_of_partial_sums_is_what_is_banded():
    root = encoder(Banded(30), 30)
    np.testing.assert_allclose(root @ root, np.tril(np.ones((30, 30))), atol=1e-12)


@pytest.mark.parametrize("matrix", MATRICES)
def test_a_run_costs_the_epsilon_that_its_noise_was_planned_for_and_hardly_less(matrix, files, tmp_path):
    scheme = BY_SCHEME["dp_ftrl"]["scheme"] | {"matrix": matrix, "noise_multiplier": {"epsilon": 3.0}}
    run = parse(Run.model_validate, RUN | BY_SCHEME["dp_ftrl"] | {"scheme": scheme}, "a run")
    trace = pd.read_parquet(go(run, files, tmp_path / "run") / "trace.parquet")
    planned = run.scheme.planned(run.cohort, run.partition.clients, run.rounds)
    assert matrix_of(trace.iloc[0].to_dict()) == matrix_of(trace.iloc[-1].to_dict()) == planned
    (spent,) = [one for one in statements(ledger(trace, run.account.delta)) if one.sensitivity == "C"]
    assert spent.status == "guarantee" and 2.99 < spent.epsilon <= 3.0
