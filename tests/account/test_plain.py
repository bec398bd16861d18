"""Traces of a few plain columns, as another framework writes them."""

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from fedpriv.account import epsilon, ledger, statements
from fedpriv.account.foreign import read_plain_trace
from fedpriv.errors import BadInput

PLAN = {"sampling_rate": 0.1, "noise_multiplier": 1.5}
TRACE = pd.DataFrame({"unit": "client", "sampling_law": "poisson", **PLAN}, index=range(20))
CSV = "unit,sampling_law,sampling_rate,noise_multiplier\n" + "client,poisson,0.1,1.5\n" * 20


def spent(trace: pd.DataFrame, accountant: str, sensitivity: str = "C") -> float:
    """Return the one ε of that accountant and sensitivity after the last round."""
    (found,) = (
        one.epsilon
        for one in statements(ledger(trace, 1e-5))
        if (one.accountant, one.sensitivity) == (accountant, sensitivity)
    )
    return found


@pytest.mark.parametrize("accountant", ["moments", "rdp", "pld"])
def test_four_columns_are_enough_and_cost_what_the_same_plan_costs(accountant: str) -> None:
    planned = epsilon(rounds=20, delta=1e-5, accountant=accountant, **PLAN)
    assert spent(TRACE, accountant) == pytest.approx(planned.epsilon, rel=1e-4)


def test_a_trace_read_from_csv_is_the_same_trace(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text(CSV)
    read = read_plain_trace(tmp_path / "trace.csv")
    pd.testing.assert_frame_equal(ledger(read, 1e-5), ledger(TRACE, 1e-5))


def test_the_unit_of_central_training_is_the_example_and_its_account_that_of_any_unit() -> None:
    examples, clients = (
        ledger(TRACE.assign(unit=unit), 1e-5).drop(columns="unit") for unit in ("instance", "client")
    )
    pd.testing.assert_frame_equal(examples, clients)
    assert {one.unit for one in statements(ledger(TRACE.assign(unit="instance"), 1e-5))} == {"instance"}


def test_instances_whose_noise_clients_add_are_not_taken_for_central_training() -> None:
    trace = TRACE.assign(unit="instance", instance_noise_multiplier=1.0)
    with pytest.raises(BadInput, match=r"^trace: local_steps: found 0, allowed: "):
        ledger(trace, 1e-5)


def test_noise_may_be_given_over_the_bound_or_beside_it() -> None:
    beside = TRACE.drop(columns="noise_multiplier").assign(noise_std=0.3, clip_l2=0.2)
    bound = TRACE.assign(clip_l2=7.0)
    for other in (beside, bound):
        pd.testing.assert_frame_equal(ledger(other, 1e-5), ledger(TRACE, 1e-5))


@pytest.mark.parametrize("column", ["unit", "sampling_law", "sampling_rate", "noise_multiplier"])
def test_what_nobody_can_guess_is_asked_for_by_name(column: str) -> None:
    with pytest.raises(BadInput, match=rf"^trace: found no column {column}, allowed: "):
        ledger(TRACE.drop(columns=column), 1e-5)


@pytest.mark.parametrize("column", ["population", "cohort_size"])
@pytest.mark.parametrize("facts", [{"sampling_law": "fixed"}, {"denominator": "present"}])
def test_who_draws_so_many_or_divides_by_them_says_of_how_many(column: str, facts: dict[str, str]) -> None:
    trace = TRACE.assign(population=100, cohort_size=10, **facts).drop(columns=column)
    with pytest.raises(BadInput, match=f"^trace: found no column {column}"):
        ledger(trace, 1e-5)


@pytest.mark.parametrize(
    ("column", "meant"),
    [
        ("num_steps", "releases"),
        ("noise_multiplyer", "noise_multiplier"),
        ("count_noise_mult", "count_noise_multiplier"),
        ("max_grad_norm", "clip_l2"),
        ("accuracy", r"test_accuracy"),
        ("epsilon", "the columns of a trace"),
        (0, "the columns of a trace"),
    ],
)
def test_a_column_that_nobody_knows_is_refused_with_those_that_may_be_meant(
    column: object, meant: str
) -> None:
    trace = pd.concat([TRACE, pd.Series(50, TRACE.index, name=column)], axis=1)
    with pytest.raises(BadInput, match=rf"^trace: found the unknown column {column}, allowed: .*{meant}"):
        ledger(trace, 1e-5)


def test_a_column_that_says_nothing_about_privacy_may_be_named_as_such() -> None:
    told = ledger(TRACE.assign(accuracy=0.9, hour="noon"), 1e-5, ignore=("accuracy", "hour", "not there"))
    pd.testing.assert_frame_equal(told, ledger(TRACE, 1e-5))
    for named in (["accuracy"], "accuracy", "accuracy, hour"):
        with pytest.raises(BadInput, match=r"^trace: found the unknown column (accuracy|hour), allowed: "):
            ledger(TRACE.assign(accuracy=0.9, hour="noon"), 1e-5, ignore=named)


@pytest.mark.parametrize("column", ["releases", "clip_private", "noise_multiplier"])
def test_what_the_accountants_read_cannot_be_left_out(column: str) -> None:
    with pytest.raises(BadInput, match=rf"^ignore: found {column}, which the accountants read, allowed: "):
        ledger(TRACE, 1e-5, ignore=[column])


@pytest.mark.parametrize("facts", [{"population": 100}, {"cohort_size": [0, *[7] * 19]}])
@pytest.mark.parametrize(("law", "rate"), [("poisson", 0.1), ("full", 1.0)])
def test_a_population_or_a_cohort_alone_is_taken_where_nobody_asks_for_it(law, rate, facts) -> None:
    trace = TRACE.assign(sampling_law=law, sampling_rate=rate)
    pd.testing.assert_frame_equal(ledger(trace.assign(**facts), 1e-5), ledger(trace, 1e-5))


def test_rounds_may_be_counted_from_zero() -> None:
    pd.testing.assert_frame_equal(ledger(TRACE.assign(round=range(20)), 1e-5), ledger(TRACE, 1e-5))
    for rounds in (range(2, 22), [*range(19), 20], range(0, 40, 2)):
        with pytest.raises(BadInput, match=r"^trace: round: found 20 rows not numbered 1, 2, 3"):
            ledger(TRACE.assign(round=rounds), 1e-5)


@pytest.mark.parametrize(
    ("column", "beside"),
    [("noise_multiplier", "clip_l2"), ("clip_l2", "noise_std"), ("noise_std", "clip_l2")],
)
def test_words_where_numbers_belong_are_named_whatever_else_there_is(column: str, beside: str) -> None:
    trace = TRACE.drop(columns="noise_multiplier").assign(**{beside: 1.0, column: "1.1"})
    with pytest.raises(BadInput, match=rf"^trace: {column}: found '1.1', allowed: numbers"):
        ledger(trace, 1e-5)


def shown(number: int) -> str:
    """Return a block of Python of the page on accounting alone."""
    page = Path(__file__).parents[2] / "docs/accounting-alone.md"
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)[number]


def test_the_three_lines_of_the_docs_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "trace.csv").write_text(CSV)
    monkeypatch.chdir(tmp_path)
    exec(shown(0), {})
    assert capsys.readouterr().out.split("\n")[:-1] == [str(one) for one in statements(ledger(TRACE, 1e-5))]


def test_the_noise_that_the_docs_calibrate_meets_their_epsilon(capsys: pytest.CaptureFixture[str]) -> None:
    exec(shown(1), {})
    assert capsys.readouterr().out.startswith("ε = 8 at δ = 0.001 (unit client, ")


def test_without_extras_a_verb_says_which_to_install(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    verbs = [["account", "."], ["run", "a", "--paper", "b", "--run", "c", "--out", "d"]]
    hidden = "import sys; sys.modules |= dict.fromkeys(['pyarrow', 'torch', 'yaml']); "
    code = f"{hidden}from fedpriv.cli.app import main; print(*map(main, {verbs}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "1 1\n"
    said = r"fedpriv: account needs the package pyarrow: pip install '.\[report\]' in a clone\n"
    assert re.fullmatch(said + r"fedpriv: run needs the package .* '.\[train\]' in a clone\n", done.stderr)


def test_rounds_of_everybody_among_sampled_ones_are_those_of_probability_1():
    rows = {"unit": "client", "noise_multiplier": [8.0, 1.0], "releases": [3, 100]}
    mixed = pd.DataFrame(rows | {"sampling_law": ["full", "poisson"], "sampling_rate": [None, 0.1]})
    alike = pd.DataFrame(rows | {"sampling_law": "poisson", "sampling_rate": [1.0, 0.1]})
    assert statements(ledger(mixed, 1e-5)) == statements(ledger(alike, 1e-5))
    for changed in (
        {"sampling_rate": [0.5, 0.1]},
        {"sampling_law": ["full", "fixed"], "population": 10, "cohort_size": [10, 1]},
    ):
        with pytest.raises(BadInput, match="allowed: one of poisson, fixed, full"):
            ledger(mixed.assign(**changed), 1e-5)


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe\xff", b'a,b\n"1,2\n', b"a\n1,2\n3,4,5\n"])
def test_a_file_that_is_none_is_refused_by_name(content, tmp_path):
    if content is not None:
        (tmp_path / "trace.csv").write_bytes(content)
    with pytest.raises(BadInput, match=r"trace\.csv: found .*, allowed: a CSV file") as refused:
        read_plain_trace(tmp_path / "trace.csv")
    assert "\n" not in str(refused.value)
