"""What the page on privacy budgets says is what the accountants, the runs and their data say."""

import math
import re
import runpy
from pathlib import Path

import pytest
from fedpriv_studies import GUARANTEES
from fedpriv_studies.basis import LARGEST

from fedpriv.account.randomized_response import epsilons
from fedpriv.config.plan import load_preset

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/privacy-budget.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([\d,]+) \(.*?\) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", PAGE, re.MULTILINE)
ROUNDS, CLIENTS = 100, 100  # of the table


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_gamma_leaves_a_client_an_epsilon_of_eight(row):
    bits, central, signal, local = (float(number.replace(",", "")) for number in row)
    for gamma, reading in ((local, "vector_exact"), (central, "central_vector_rdp")):
        found = epsilons(gamma, ROUNDS, 1e-5, int(bits), CLIENTS)[reading].epsilon
        assert found == pytest.approx(8, rel=0.06)  # γ is printed with two or three digits
    assert signal == pytest.approx(2 * central * math.sqrt(CLIENTS), rel=0.02)


def test_the_example_level_of_table_4_is_of_runs_in_which_an_example_is_at_one_client_once():
    plan = load_preset(ROOT / "config/guarantees.yaml")
    noise = runpy.run_path(str(GUARANTEES / "tables.py"))["NOISE"]
    for run, label in (("aptos_both", "APTOS"), ("iid_both", "i.i.d."), ("noniid_both", "non-i.i.d.")):
        run = plan.runs["guarantees"][run]
        assert not run.partition.repeat and run.photos.copies == 1 and run.cohort.law == "full"
        assert run.data == "mnist" or run.photos.dedup == "drop"  # none of MNIST's images is there twice
        moved = math.sqrt(2) * math.hypot(LARGEST, run.model.constant) / run.partition.each
        multiplier = run.scheme.noise_multiplier * run.scheme.clip_l2 / moved
        zeroed, replaced = (line for line in noise if line.startswith(label))
        for line, times in ((zeroed, 1), (replaced, 2)):
            sigma, rounds = noise[line]
            assert multiplier / times * 0.999 < sigma <= multiplier / times and rounds == run.rounds
        assert replaced.endswith("by one of its label") == run.partition.by_label


def test_nothing_that_is_rendered_says_that_an_epsilon_pays_for_all_or_that_nothing_private_was_looked_at():
    texts = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("results/reference/*/*/**/*.md"), ROOT / "README.md"]
    assert len(texts) > 100
    for path in texts:
        said = path.read_text(encoding="utf-8")
        assert "pays for everything" not in said and "no private data were used" not in said, path
