"""What the page on privacy budgets says of bits is what the accountants say."""

import re
from pathlib import Path

import pytest

from fedpriv.account.randomized_response import epsilons

PAGE = (Path(__file__).parents[2] / "docs/privacy-budget.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| ([\d,]+) \(.*?\) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", PAGE, re.MULTILINE
)


@pytest.mark.parametrize("row", [ROWS[0], *(row for row in ROWS if row[0] == "650")])
def test_every_gamma_leaves_a_client_an_epsilon_of_eight(row):
    bits, rounds = int(row[0].replace(",", "")), int(row[1])
    for gamma, reading, clients in zip(
        row[2:], ("vector_exact", "central_vector_rdp", "central_vector_rdp"), (100, 100, 1000), strict=True
    ):
        found = epsilons(float(gamma), rounds, 1e-5, bits, clients)[reading].epsilon
        assert found == pytest.approx(8, rel=0.06)  # γ is printed with two or three digits
