import json

import pytest
from support.tiny import BITS, GOAL, PLAN

from fedpriv.account.spend import Spend


def test_epsilon_is_printed_with_all_that_gives_it_meaning(fedpriv):
    code, out, err = fedpriv("epsilon", *PLAN, "--accountant", "all")
    assert (code, err) == (0, [])
    for line, (accountant, epsilon) in zip(
        out, {"moments": 8.308, "rdp": 7.354, "pld": 6.549}.items(), strict=False
    ):
        for words in (f"ε = {epsilon}", "δ = 0.001", f"accountant {accountant}", "unit client", "add_remove"):
            assert words in line
        assert "sampling law poisson" in line
        assert "attacker accuracy 0.99" in line
    assert "Poisson sampling" in out[-1]


def test_epsilon_as_json_is_one_object_with_the_words_of_a_spend(fedpriv):
    _, out, _ = fedpriv("epsilon", *PLAN, "--json")
    spend = json.loads("\n".join(out))
    assert spend["epsilon"] == pytest.approx(8.308, abs=1e-3)
    assert spend["attacker_accuracy"] == pytest.approx(0.99975, abs=1e-5)
    assert set(Spend.__dataclass_fields__) < set(spend)


def test_all_accountants_as_json_are_one_object_by_name(fedpriv):
    _, out, _ = fedpriv("epsilon", *PLAN, "--accountant", "all", "--json")
    spends = json.loads("\n".join(out))
    assert spends["pld"]["epsilon"] < spends["rdp"]["epsilon"] < spends["moments"]["epsilon"]


@pytest.mark.parametrize("accountant", ["moments", "rdp", "pld"])
def test_calibrated_noise_costs_the_epsilon_asked_for(fedpriv, accountant):
    _, out, _ = fedpriv("calibrate", *GOAL, "--accountant", accountant, "--json")
    found = json.loads("\n".join(out))
    words = ["--q", ".3", "--rounds", "300", "--delta", "1e-3", "--accountant", accountant, "--json"]
    _, out, _ = fedpriv("epsilon", "--noise-multiplier", str(found["noise_multiplier"]), *words)
    assert json.loads("\n".join(out))["epsilon"] == pytest.approx(8, rel=1e-3)
    assert found["epsilon"] <= 8


def test_randomised_response_is_counted_under_every_reading(fedpriv):
    code, out, err = fedpriv("rr-epsilon", *BITS)
    assert (code, err) == (0, [])
    assert out[0].startswith("one bit, all rounds; best Rényi order: ε = 26.15 at δ = 1e-05")
    _, out, _ = fedpriv("rr-epsilon", *BITS, "--dimension", "81958", "--json")
    readings = json.loads("\n".join(out))
    assert readings["bit_exact"]["epsilon"] == pytest.approx(23.65, abs=0.01)
    assert readings["vector_rdp"]["epsilon"] == pytest.approx(6.70e5, rel=1e-3)
