"""ε of correlated noise and of clients in turn: against enumeration, an exact curve, the best attacker."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from dp_accounting import SingleEpochTreeAggregationDpEvent, get_epsilon_gaussian
from fedpriv_studies import correlated
from fedpriv_studies.correlated import MATRICES, Banded, Blt, Tree, Turns
from fedpriv_studies.matrix import independent_squares
from hypothesis import given, settings
from hypothesis import strategies as st
from support.library import rdp_accountant
from support.matrices import decoder, encoder

from fedpriv.account import calibrate, epsilon, foreign, ledger, statements
from fedpriv.errors import BadInput

DELTA = 1e-5


def patterns(rounds: int, times: int, apart: int, first: int = 0) -> Iterator[list[int]]:
    """Yield every set of rounds that one client may come in."""
    yield []
    for start in range(first, rounds if times else 0):
        for rest in patterns(rounds, times - 1, apart, start + apart):
            yield [start, *rest]


def enumerated(columns: np.ndarray, times: int, apart: int) -> float:
    """Return the largest square of a sum of `columns` that a client may move."""
    found = (columns[:, one].sum(axis=1) for one in patterns(columns.shape[1], times, apart))
    return max(float(one @ one) for one in found)


LIMITS = [(1, 1), (2, 1), (3, 2), (20, 2), (2, 3), (4, 3), (20, 4), (3, 5), (20, 7), (20, 100)]


@pytest.mark.parametrize(("times", "apart"), LIMITS)
@pytest.mark.parametrize("rounds", [1, 5, 8, 17])
def test_the_sensitivity_is_the_largest_of_all_ways_to_come(rounds, times, apart):
    if rounds > 11 and apart < 2 and times > 3:
        pytest.skip("too many ways")
    planned = Blt.planned(Turns(rounds, times, apart), 0)
    for matrix in [Tree(), *map(Banded, {1, 2, apart, rounds}), planned, Blt(((0.5, 0.99), (0.5, 0.9)))]:
        largest = enumerated(encoder(matrix, rounds), times, apart)
        assert matrix.squares([rounds], times, apart)[0] == pytest.approx(largest, rel=1e-12)


@given(st.lists(st.floats(0, 5), min_size=1, max_size=9), st.integers(1, 5), st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_independent_noise_costs_the_dearest_rounds_that_one_may_come_in(costs, times, apart):
    found = independent_squares(np.array(costs), times, apart)
    for rounds in range(1, len(costs) + 1):
        dearest = max(sum(costs[t] for t in one) for one in patterns(rounds, times, apart))
        assert found[rounds - 1] == pytest.approx(dearest, rel=1e-12)


def test_rounds_that_are_counted_in_blocks_cost_no_less_and_hardly_more(monkeypatch):
    cases = [([700, 1023], 6, 160), ([999], 3, 255), ([600], 20, 130)]
    coarse = [correlated.squares(*case) for case in cases]
    monkeypatch.setattr(correlated, "FINEST", 10**9)
    for one, case in zip(coarse, cases, strict=True):
        exact = correlated.squares(*case)
        assert (one >= exact).all() and (one <= 1.02 * exact).all()


def plan(rounds: int, times: int, apart: int, noise: float, delta: float, **told: object) -> float:
    share = min(1 / apart, times / rounds)  # of clients who come so seldom, and so far apart, in turn
    of = {"noise_multiplier": noise, "rounds": rounds, "delta": delta, "sampling_rate": share}
    return epsilon(**of, accountant="matrix", participations=times, rounds_apart=apart, **told).epsilon


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize(("rounds", "times", "apart"), [(1, 1, 1), (10, 1, 10), (16, 4, 3), (12, 12, 1)])
@pytest.mark.parametrize(("noise", "delta"), [(0.5, 1e-9), (3.0, 1e-3), (40.0, 1e-9)])
def test_epsilon_is_that_of_the_exact_curve_and_never_below_it(matrix, rounds, times, apart, noise, delta):
    made = MATRICES[matrix].planned(Turns(rounds, times, apart), 0)
    moved = np.sqrt(enumerated(encoder(made, rounds), times, apart))
    exact = get_epsilon_gaussian(noise / moved, delta)
    found = plan(rounds, times, apart, noise, delta, matrix=matrix)
    assert exact * (1 - 1e-9) <= found <= exact * 1.0001 + 1e-8


@pytest.mark.parametrize("rounds", [1, 7, 8, 100, 1000])
def test_a_tree_of_one_epoch_costs_what_the_library_says_of_its_event(rounds):
    accountant = rdp_accountant("replace_special")
    accountant.compose(SingleEpochTreeAggregationDpEvent(8.0, rounds))
    bound = accountant.get_epsilon(DELTA)
    assert 0.8 * bound < plan(rounds, 1, rounds, 8.0, DELTA) <= bound


@pytest.mark.parametrize(
    ("matrix", "bands"), [("tree", 0), *(("banded", one) for one in (1, 3, 14)), ("blt", 0)]
)
def test_no_attacker_of_all_releases_sees_more_than_is_stated_and_without_a_tree_the_best_sees_all(
    matrix, bands
):
    rounds, times, apart, noise, delta = 14, 4, 3, 2.0, 1e-3
    root = decoder(MATRICES[matrix].planned(Turns(rounds, times, apart), bands), rounds)
    precision = np.linalg.inv(root @ root.T)
    seen = 0.0
    for one in patterns(rounds, times, apart):
        came = np.isin(np.arange(rounds), one) * 1.0
        seen = max(seen, float(came @ precision @ came))
    lower = get_epsilon_gaussian(noise / np.sqrt(seen), delta)
    stated = plan(rounds, times, apart, noise, delta, matrix=matrix, bands=bands)
    assert lower <= stated * (1 + 1e-6)
    if matrix != "tree":
        assert lower == pytest.approx(stated, rel=1e-6)


def turns(rounds: int = 40, noise: float = 3.0, **changed: object) -> pd.DataFrame:
    """Return a trace of four in a hundred clients in turn, with noise through a tree."""
    columns = {"unit": "client", "sampling_law": "spaced", "population": 100, "cohort_size": 25}
    columns |= {"mechanism": "correlated_gaussian", "matrix": "tree", "noise_multiplier": noise}
    columns |= {"participations": -(-rounds // 4), "rounds_apart": 4} | changed
    return pd.DataFrame(columns, index=range(rounds))


def test_a_ledger_has_what_a_plan_costs_for_both_relations():
    last = statements(ledger(turns(), DELTA))
    assert [(one.accountant, one.relation, one.sensitivity) for one in last] == [
        ("matrix", "zero_out", "C"),
        ("matrix", "replace_one", "2C"),
    ]
    assert all(one.status == "guarantee" and one.sampling_law == "spaced" for one in last)
    assert last[0].epsilon == plan(40, 10, 4, 3.0, DELTA)
    assert last[1].epsilon == pytest.approx(plan(40, 10, 4, 1.5, DELTA))


def test_epsilon_after_every_round_is_that_of_the_rounds_so_far_or_of_a_few_more():
    found = ledger(turns(), DELTA).query("sensitivity == 'C'")["epsilon"].to_numpy()
    so_far = [plan(rounds, 10, 4, 3.0, DELTA) for rounds in range(1, 41)]
    assert (np.diff(found) >= 0).all() and (found >= np.array(so_far) * (1 - 1e-9)).all()
    np.testing.assert_allclose(found[:20], so_far[:20], rtol=1e-9)
    banded = ledger(turns(matrix="banded", bands=4), DELTA).query("sensitivity == 'C'")["epsilon"]
    exact = [plan(rounds, 10, 4, 3.0, DELTA, matrix="banded") for rounds in range(1, 41)]
    assert (banded >= np.array(exact) * (1 - 1e-9)).all()


def test_who_comes_in_turn_pays_for_its_own_rounds_and_nobody_is_sampled():
    (one, other) = statements(ledger(turns(mechanism="gaussian").drop(columns="matrix"), DELTA))
    assert one.accountant == other.accountant == "matrix"
    assert one.epsilon == pytest.approx(get_epsilon_gaussian(3.0 / np.sqrt(10), DELTA), rel=1e-6)


def test_where_clients_are_sampled_or_always_there_a_matrix_counts_every_round():
    for law, rate in (("poisson", 0.25), ("full", 1.0), ("fixed", 0.25)):
        size = 100 if law == "full" else 25
        trace = turns(
            sampling_law=law, sampling_rate=rate, cohort_size=size, participations=0, rounds_apart=1
        )
        first = statements(ledger(trace, DELTA))[0]
        assert first.epsilon == plan(40, 40, 1, 3.0, DELTA)
        assert first.relation == ("zero_out" if law == "fixed" else "add_remove")


def test_noise_that_changes_from_round_to_round_is_no_guarantee_and_a_round_without_is_infinite():
    noise = np.full(40, 3.0)
    noise[30] = 2.0
    changed = statements(ledger(turns(noise_multiplier=noise), DELTA))
    assert not any(one.assumptions_met for one in changed)
    noise[30] = 0.0
    bare = ledger(turns(noise_multiplier=noise), DELTA).query("sensitivity == 'C'")["epsilon"].to_numpy()
    assert np.isfinite(bare[:30]).all() and np.isinf(bare[30:]).all()


def test_a_matrix_that_nobody_knows_has_no_epsilon():
    assert ledger(turns(matrix="of my own"), DELTA).empty


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"rounds_apart": 5}, "rounds_apart: found 5, allowed: fewer, for 125 clients came"),
        ({"participations": 9}, "participations: found 9, allowed: at least 10"),
        ({"matrix": ["tree"] * 39 + ["banded"]}, "matrix: found tree, banded, allowed: one value"),
        ({"matrix": "banded", "bands": 0}, "bands: found 0, allowed: whole numbers from 1"),
        ({"bands": 2}, "bands: found 2 with matrix tree, allowed: with matrix banded"),
        (
            {"population": [100] * 20 + [25] * 20},
            "population: found 100, 25 with sampling_law spaced, allowed: one",
        ),
        ({"releases": 3}, "releases: found 3, allowed: 1 with mechanism correlated_gaussian"),
        ({"mechanism": "gaussian"}, "unknown column matrix, allowed: matrix with mechanism correlated"),
    ],
)
def test_what_cannot_have_happened_is_one_line_that_names_the_column(changed, line):
    with pytest.raises(BadInput, match=f"^trace: .*{line}"):
        ledger(turns(**changed), DELTA)


@pytest.mark.parametrize("mechanism", ["correlated_gaussian", "gaussian"])
@pytest.mark.parametrize(
    "cohorts", [{"law": "full", "size": 100}, {"law": "poisson"}, {"law": "fixed"}], ids=str
)
@pytest.mark.parametrize("side", [{"participations": 1}, {"rounds_apart": 40}], ids=str)
def test_that_a_client_comes_seldom_is_believed_of_no_law_that_does_not_keep_it_from_coming(
    mechanism, cohorts, side
):
    size = cohorts.get("size", 25)
    columns = {"sampling_law": cohorts["law"], "sampling_rate": size / 100, "cohort_size": size}
    trace = turns(**columns, **{"participations": 0, "rounds_apart": 1, "mechanism": mechanism} | side)
    trace = trace if mechanism == "correlated_gaussian" else trace.drop(columns="matrix")
    (name,) = side
    with pytest.raises(
        BadInput, match=f"^trace: {name}: found {side[name]} with sampling_law {cohorts['law']}, allowed"
    ):
        ledger(trace, DELTA)


@pytest.mark.parametrize(
    ("share", "told", "line"),
    [
        (0.3, {"participations": 1}, "found 1, 3, allowed: at least 90, at most 3"),
        (0.3, {"rounds_apart": 4}, "found 90, 4, allowed: at least 90, at most 3"),
        (0.3, {"numbers": "0.5:0.5"}, "numbers: found '0.5:0.5' with matrix tree"),
    ],
)
def test_a_plan_is_told_nothing_that_clients_in_turn_or_its_matrix_do_not_keep(share, told, line):
    of = {"noise_multiplier": 5.0, "rounds": 300, "delta": DELTA, "accountant": "matrix"}
    with pytest.raises(BadInput, match=line):
        epsilon(sampling_rate=share, **of, **told)


def test_the_readme_says_what_noise_an_epsilon_takes_and_how_much_of_it_is_in_the_sum():
    page = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    lines = page.partition("| share in a cohort |")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(lines) == 4
    for line in lines:
        share, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        of = {"sampling_rate": float(Fraction(share)), "rounds": 300, "delta": DELTA, "epsilon": 4.0}
        ways = [("pld", {}), *(("matrix", one) for one in ({"matrix": "banded", "bands": 1}, {}))]
        ways += [("matrix", {"matrix": one}) for one in ("banded", "blt")]
        for (accountant, told), cell in zip(ways, cells, strict=True):
            noise, summed = (float(one) for one in cell.removeprefix("σ = ").split(": "))
            found = calibrate(accountant=accountant, **of, **told)
            assert noise == pytest.approx(found, rel=0.01)
            turns = Turns(300, -int(-300 * Fraction(share) // 1), int(1 / Fraction(share)))
            matrix, bands = told.get("matrix", "tree"), told.get("bands", 0)
            made = Banded(1) if accountant == "pld" else MATRICES[matrix].planned(turns, bands)
            of_sum = decoder(made, 300).sum(axis=0)
            assert summed == pytest.approx(found * np.linalg.norm(of_sum), rel=0.02)


def test_batches_of_opacus_without_poisson_sampling_cost_what_an_example_in_every_pass_does():
    engine = pytest.importorskip("opacus", reason="Opacus is not installed").PrivacyEngine()
    model, rows = (
        torch.nn.Linear(3, 2),
        torch.utils.data.TensorDataset(torch.ones(22, 3), torch.zeros(22).long()),
    )
    parts = {"module": model, "optimizer": torch.optim.SGD(model.parameters(), lr=0.1)}
    loader = torch.utils.data.DataLoader(rows, batch_size=5, shuffle=True)
    how = {"noise_multiplier": 2.0, "max_grad_norm": 1.0, "poisson_sampling": False}
    model, optimizer, loader = engine.make_private(**parts, data_loader=loader, **how)
    for _ in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    history = engine.accountant.history
    assert history == [(2.0, 1 / 5, 15)]  # the same as of Poisson samples
    exact = get_epsilon_gaussian(2.0 / np.sqrt(3), DELTA)
    found, sampled = (
        {one.accountant: one.epsilon for one in statements(ledger(trace, DELTA)) if one.sensitivity == "C"}
        for trace in (
            foreign.from_opacus(history, clipping="flat", poisson_sampling=False, once_a_pass=True),
            foreign.from_opacus(history, clipping="flat", poisson_sampling=True),
        )
    )
    assert found == {"matrix": pytest.approx(exact, rel=1e-4)} and sampled["pld"] < exact
