"""Checks of runs, whether they are in a table or not: what their margins are, in closed form."""

from dataclasses import replace

import numpy as np
import pytest
from support.made_claims import claim, outcomes
from support.made_runs import ROUNDS, write_run

from fedpriv.errors import BadInput
from fedpriv.paper.epsilons import EpsilonSelector
from fedpriv.paper.tables import Cell, EpsilonBudget
from fedpriv.report.collect import collect
from fedpriv.report.metrics import METRICS
from fedpriv.report.results import Results, load_results
from fedpriv.report.sample import decision_of_margins

SEQUENTIAL, PARALLEL = (
    EpsilonSelector(accountant="moments", accounting=accounting) for accounting in ("sequential", "parallel")
)
# run -> its scheme and the accuracy at its end
RUNS = {
    "plain": ("none", 0.9),
    "client": ("client_dp", 0.8),
    "joint": ("joint", 0.78),
    "slow": ("joint", 0.5),
    "larger": ("instance", 0.7),
    "bits": ("dpfl_bnn", 0.85),
    "longer": ("none", 0.88),  # has a third seed
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return two seeds of every run, of one three; accuracy grows with rounds, ε with their square root."""
    folder = tmp_path_factory.mktemp("checked")
    runs = [
        write_run(
            folder,
            run,
            seed,
            scheme=scheme,
            final=final,
            scale=1.5 if run == "larger" else 1.0,
            drawn=0.95 if run == "bits" else None,
        )
        for run, (scheme, final) in RUNS.items()
        for seed in range(3 if run == "longer" else 2)
    ]
    return load_results(collect(runs, folder))


def outcome_of(results, check, **case):
    (outcome,) = outcomes(results, check, cases={"here": case})
    return outcome


GAIN = "accuracy(of) >= accuracy(over)"
BEST = 'accuracy(of, "best_drawn") >= accuracy(over, "best_drawn")'


LIST = {"first": "slow", "second": "joint", "third": "client"}
FALLING = {"first": "slow", "second": "plain", "third": "client"}
RISE = "rise(first, second, third) >= "
GROWN = 1 - np.sqrt(1 / ROUNDS)  # of what is spent after the last round
FASTER = 'growth("parallel moments C") >= {}growth("sequential moments C")'
OF_TWO = 'growth(fast, "parallel moments C") >= growth(slow, "parallel moments C")'
TIMES = 'epsilon("bits rdp") >= {} * epsilon("sum rdp bits")'
SAME = "abs(accuracy(of) - accuracy(over)) <= 0.03"
GAIN_SAID = "78.0 ± 0.6 % against 80.0 ± 0.6 %, gain −2.0 ± 0.0 points"
SMALLER = "float32_bytes(real) / upload_bytes(bits) >= 32"


@pytest.mark.parametrize(
    ("check", "case", "margins", "measured"),
    [
        (
            GAIN + " - 0.03",
            {"of": "joint", "over": "client"},
            [0.01] * 2,
            GAIN_SAID,
        ),
        ("accuracy(slow) <= 0.2", {"slow": "slow"}, [-0.3, -0.301], "50.0 ± 0.6 %"),
        ("accuracy(of) <= limit", {"of": "plain", "limit": 0.95}, [0.05, 0.049], "90.1 ± 0.6 %"),
        # Accuracies as released code reads them, and at the end.
        (BEST, {"of": "bits", "over": "plain"}, [0.95 - 0.9, 0.95 - 0.901], None),
        (GAIN, {"of": "bits", "over": "plain"}, [-0.05] * 2, None),
        ('accuracy(of, "best_drawn") <= 0.9', {"of": "bits"}, [-0.05] * 2, "95.0 ± 0.0 %"),
        ("rise(plain, bits) >= 0", {"plain": "plain", "bits": "bits"}, [-0.05] * 2, None),
        ('rise(plain, bits, "best_drawn") >= 0', {"plain": "plain", "bits": "bits"}, [0.05, 0.049], None),
        # Several comparisons: along a list every step, and of one run with each of the others.
        (RISE + "0", LIST, [[0.28, 0.02]] * 2, "50.0 ± 0.6, 78.0 ± 0.6, 80.0 ± 0.6 %"),
        (RISE + "0", FALLING, [[0.4, -0.1]] * 2, "50.0 ± 0.6, 90.1 ± 0.6, 80.0 ± 0.6 %"),
        (RISE + "-0.1", FALLING, [[0.5, 0]] * 2, None),
        (
            "lead(best, first, second) >= 0",
            {"best": "client", "first": "joint", "second": "plain"},
            [[0.02, -0.1]] * 2,
            "80.0 ± 0.6 against 78.0 ± 0.6, 90.1 ± 0.6 %",
        ),
        # What was spent after the first round, of one run or of two; the smaller one is said first.
        (
            FASTER.format(""),
            {"run": "joint"},
            [GROWN * (4.0 - 0.2)] * 2,
            f"0.16 ({SEQUENTIAL}) against 3.11 ({PARALLEL})",
        ),
        (FASTER.format("20 * "), {"run": "joint"}, [0, 0], f"0.16 ({SEQUENTIAL}) against 3.11 ({PARALLEL})"),
        (OF_TWO, {"fast": "larger", "slow": "joint"}, [GROWN * 2.0] * 2, None),
        (OF_TWO, {"fast": "joint", "slow": "larger"}, [-GROWN * 2.0] * 2, None),
        ('delta("moments C") <= limit', {"run": "client", "limit": 1e-2}, [9e-3] * 2, "10⁻³"),
        ('delta("moments C") <= limit', {"run": "client", "limit": 1e-4}, [-9e-4] * 2, "10⁻³"),
        (TIMES.format(50), {"run": "bits"}, [6.7e5 - 50 * 7400] * 2, "ε 7400 against 6.70 · 10⁵"),
        (
            'epsilon("bits rdp") / epsilon("sum rdp bits") >= 50',
            {"run": "bits"},
            [6.7e5 / 7400 - 50] * 2,
            "6.70 · 10⁵ against 7400, ratio 90.5",
        ),
        # What is less apart than a number; bytes of one run, and of two; rounds until an accuracy is reached.
        (SAME, {"of": "joint", "over": "client"}, [[0.05, 0.01]] * 2, GAIN_SAID),
        (SMALLER, {"bits": "bits", "real": "bits"}, [0, 0], "4,000 bytes against 125 bytes, ratio 32"),
        (SMALLER, {"bits": "bits", "real": "client"}, [0, 0], None),
        (
            "rounds(of, accuracy(over) - 0.12) - rounds(over, accuracy(over) - 0.12) <= 3",
            {"of": "client", "over": "plain"},
            [1, 1],  # who ends at 90 % has 78 in round 18, who ends at 80 % in the last
            None,
        ),
        (
            "rounds(of, accuracy(over) - 0.1) / rounds(over, accuracy(over) - 0.1) <= 100",
            {"of": "slow", "over": "client"},
            [-np.inf] * 2,
            "round — for 70.0 ± 0.6 % against round 18 for 70.0 ± 0.6 %, ratio ∞",
        ),
    ],
)
def test_the_margins_of_a_case_are_those_of_its_arithmetic(results, check, case, margins, measured):
    outcome = outcome_of(results, check, **case)
    assert outcome.margins == pytest.approx(np.array(margins))
    assert measured in (None, outcome.measured)


def test_of_two_endless_epsilons_neither_is_larger(results):
    epsilons = results.epsilons
    without_end = epsilons["epsilon"].where(epsilons["accounting"] != "upload", np.inf)
    endless = replace(results, epsilons=epsilons.assign(epsilon=without_end))
    assert np.isposinf(outcome_of(endless, TIMES.format(1), run="bits").margins).all()
    same = outcome_of(endless, 'epsilon("bits rdp") >= 1 * epsilon("bit exact")', run="bits")
    assert decision_of_margins(same.margins) == "undecided"


def only_seed_0_of(results, run):
    """Return the results with one seed of a run."""

    def fewer(table):
        return table.loc[(table["run"] != run) | (table["seed"] == 0)]

    return Results(*map(fewer, (results.runs, results.rounds, results.epsilons)), results.audited)


@pytest.mark.parametrize(
    "check",
    [
        GAIN,
        "accuracy(of) - accuracy(over) >= accuracy(over) - accuracy(of)",
        "rise(of, over) >= 0",
        "lead(of, over) >= 0",
        "rounds(of, accuracy(over) - 0.3) / rounds(over, accuracy(over) - 0.3) <= 2",
    ],
)
@pytest.mark.parametrize(("of", "over"), [("longer", "plain"), ("plain", "longer")])
def test_of_runs_with_different_seeds_those_are_compared_that_both_have(results, check, of, over):
    margins = outcome_of(results, check, of=of, over=over).margins
    assert len(margins) == 2 and np.isfinite(margins).all()


@pytest.mark.parametrize(
    ("check", "decision"),
    [(FASTER.format(""), "holds"), (FASTER.format("1e9 * "), "fails"), ("accuracy(run) >= 0.5", "undecided")],
)
def test_an_epsilon_that_no_seed_can_change_is_decided_by_one(results, check, decision):
    outcome = outcome_of(only_seed_0_of(results, "joint"), check, run="joint")
    assert decision_of_margins(outcome.margins) == decision


# The check, and the runs of its case.
CHECKS = {
    "gain": (GAIN, {"of": "plain", "over": "client"}),
    "limit": ("accuracy(of) <= 0.2", {"of": "plain"}),
    "growth": (FASTER.format(""), {"run": "joint"}),
    "epsilon": ('epsilon("upload moments C") >= epsilon("sum moments C")', {"run": "joint"}),
    "rise": ("rise(low, high) >= 0", {"low": "joint", "high": "plain"}),
    "bytes": ("float32_bytes(bits) / upload_bytes(bits) >= 32", {"bits": "joint"}),
    "rounds": (
        "rounds(of, accuracy(over)) <= 2 * rounds(over, accuracy(over))",
        {"of": "joint", "over": "client"},
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_misspelt_run_is_named_before_anything_is_read(name):
    check, runs = CHECKS[name]
    claim(check, cases={"here": runs}).validate_names("claims.it", {}, RUNS)
    for key in runs:
        wrong = claim(check, cases={"here": runs | {key: "jiont"}})
        with pytest.raises(BadInput, match=r"claims\.it: runs: found jiont, allowed: plain, client"):
            wrong.validate_names("claims.it", {}, RUNS)


@pytest.mark.parametrize("name", CHECKS)
def test_accuracies_on_data_that_stand_in_are_never_judged_and_accounts_always_are(results, name):
    check, runs = CHECKS[name]
    outcome = outcome_of(replace(results, runs=results.runs.assign(substitute_for="mnist")), check, **runs)
    if name in ("growth", "epsilon", "bytes"):
        assert outcome.margins == pytest.approx(outcome_of(results, check, **runs).margins)
        assert not outcome.instead
    else:
        assert (outcome.margins, outcome.instead) == (None, "not judged: substitute data")
        assert outcome.measured == "not judged, digits in place of mnist"


@pytest.mark.parametrize(
    "check, case, learned",
    [
        (GAIN, {"of": "joint", "over": "client"}, False),
        (GAIN, {"of": "client", "over": "plain"}, True),  # one of them is enough
        ("accuracy(of) <= 0.2", {"of": "slow"}, True),  # that it is so is what is asked
        ("rise(low, high) >= 0", {"low": "slow", "high": "joint"}, False),
        ("rounds(of, accuracy(over)) <= 40", {"of": "slow", "over": "client"}, False),
        (FASTER.format(""), {"run": "joint"}, True),
    ],
)
def test_where_nothing_was_learned_a_comparison_of_accuracies_is_undecided(results, check, case, learned):
    outcome = outcome_of(replace(results, runs=results.runs.assign(majority=0.85)), check, **case)
    assert outcome.instead == ("" if learned else "undecided")
    assert ("nothing learned" in outcome.measured) == (not learned)


@pytest.mark.parametrize("name", CHECKS)
def test_a_case_whose_run_is_missing_is_not_run(results, name):
    check, runs = CHECKS[name]
    without = results.of(*set(results.runs["run"]) - {"joint", "plain"})
    outcome = outcome_of(without, check, **runs)
    assert outcome.margins is None and outcome.measured == "not run"


def test_a_claim_may_be_about_whatever_can_be_read_of_a_run(tmp_path):
    rounds = np.arange(1, ROUNDS + 1)
    facts = {
        "test_auroc": np.where(rounds % 2 == 0, 0.5 + rounds / 50, np.nan),
        "test_perplexity": 30.0 - rounds,
    }
    runs = [
        write_run(tmp_path, name, seed, scheme="client_dp", facts={**facts, "upload_noise_std": 0.5})
        for name in ("a", "b")
        for seed in (0, 1)
    ]
    results = load_results(collect(runs, tmp_path))
    auroc = outcome_of(results, "auroc(a) >= 0.8", a="a")
    assert auroc.margins == pytest.approx([0.1, 0.1]) and auroc.measured == "90.0 ± 0.0 %"
    assert outcome_of(results, "auroc(a) - auroc(b) >= -0.01", a="a", b="b").margins == pytest.approx(
        [0.01] * 2
    )
    budget = EpsilonBudget("", EpsilonSelector(accountant="moments"), 6.0, 1e-3)  # ends at round 10
    assert [*METRICS["auroc"].sample(results, Cell("a", (budget,)))] == pytest.approx([0.7, 0.7])
    text = outcome_of(results, "perplexity(a) <= 12", a="a")
    assert text.margins == pytest.approx([2, 2]) and text.measured == "10.00"
    sent = outcome_of(results, "times_smaller(a) <= 1", a="a")
    assert sent.margins == pytest.approx([0, 0]) and sent.measured == "1.0×"
    missing = outcome_of(results, "f1(a) >= 0.8", a="a")
    assert decision_of_margins(missing.margins) == "undecided" and missing.measured == "no f1"
    other = replace(results, runs=results.runs.assign(substitute_for="mnist"))
    assert outcome_of(other, "auroc(a) >= 0.8", a="a").instead == "not judged: substitute data"
