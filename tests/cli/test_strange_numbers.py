"""Whatever number a calculator is given: a sound, finite answer, or one line that names the option."""

import json
import warnings

import pytest
from support.tiny import BITS, GOAL, PLAN

STRANGE = ["nan", "inf", "-1", "5e-324", "1e300", "0.9999999999999999", "1e-12", "abc", "1000000000"]
STRANGE += [str(10**18)]

ASKED = {"epsilon": PLAN, "calibrate": GOAL, "rr-epsilon": [*BITS, "--dimension", "1000", "--clients", "9"]}


@pytest.mark.parametrize(
    ("verb", "option"), [(verb, word) for verb, words in ASKED.items() for word in words[::2]]
)
def test_a_strange_number_is_counted_with_or_refused(fedpriv, verb: str, option: str) -> None:
    every = [] if verb == "rr-epsilon" else ["--accountant", "all"]
    answered = 0
    for value in STRANGE:
        words = [verb, *ASKED[verb], *every, "--json"]
        words[words.index(option) + 1] = value
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            code, out, err = fedpriv(*words)
        if code == 0:
            answered += 1
            told = json.loads("\n".join(out)).values()
            assert any("epsilon" in spend for spend in told)
            for spend in told:  # or why this accountant cannot
                assert "allowed" in spend.get("found", "") or (spend["epsilon"] >= 0 and spend["delta"] > 0)
        else:
            assert (code, out, len(err)) == (2, [], 1)
            assert len(err[0]) < 300 and ("found" in err[0] or option in err[0])
    assert 0 < answered < len(STRANGE)


def test_more_rounds_than_can_be_counted_are_one_line(fedpriv) -> None:
    code, _, err = fedpriv("epsilon", *PLAN, "--rounds", str(10**400))
    assert (code, err) == (
        2,
        ["fedpriv: rounds: found a number of 401 digits, allowed: at most 1e+18"],
    )


def test_noise_in_six_digits_is_still_enough(fedpriv) -> None:
    _, out, _ = fedpriv("calibrate", *GOAL, "--accountant", "all")
    lines = [words for line in out if (words := line.split())[-1:] in (["moments"], ["rdp"], ["pld"])]
    assert len(lines) == 3
    for shown, accountant in lines:
        words = [*PLAN, "--noise-multiplier", shown, "--accountant", accountant, "--json"]
        _, answer, _ = fedpriv("epsilon", *words)
        assert json.loads("\n".join(answer))["epsilon"] <= 8


@pytest.mark.parametrize("found", ["much", {"delta": "much"}, {"delta": 0}, {"detla": 1e-5}, [1]])
def test_a_summary_without_a_delta_is_refused_by_its_name(refused, trained, found: object) -> None:
    from fedpriv.files import summary

    path = trained / "summary.json"
    facts = summary.load(path)
    summary.save(path, {name: value for name, value in facts.items() if name != "seal"} | {"account": found})
    assert "out/summary.json: account" in refused("account", "out")
