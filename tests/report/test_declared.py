"""What the page about papers shows may be declared."""

import re
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

from fedpriv.paper.claims import Claim
from fedpriv.paper.figures import FIGURES
from fedpriv.paper.metrics import SIGNATURES, signature_text
from fedpriv.paper.tables import TABLES, resolve_tables
from fedpriv.report.claims import COMBINED
from fedpriv.report.metrics import METRICS

PAGE = Path(__file__).parents[2] / "docs/add-a-paper.md"
EXAMPLES = [
    yaml.safe_load(dedent(block)) for block in re.findall(r"(?:^    .*\n)+", PAGE.read_text(), re.MULTILINE)
]
BLOCKS = {name: spec for block in EXAMPLES if isinstance(block, dict) for name, spec in block.items()}
DEFAULTS = BLOCKS.pop("table_defaults")
DECLARED = resolve_tables(BLOCKS, DEFAULTS)
CLAIMS = [claim for block in EXAMPLES if isinstance(block, list) for claim in block]


@pytest.mark.parametrize("name", DECLARED)
def test_a_table_or_figure_of_the_page_is_what_it_says_and_survives_being_written_as_data(name):
    kind = (TABLES | FIGURES)[DECLARED[name]["kind"]]
    spec = kind.model_validate(DECLARED[name])
    assert kind.model_validate(spec.model_dump(include={*kind.model_fields})) == spec
    assert list(spec.runs()) or DECLARED[name]["match"]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["id"])
def test_a_claim_of_the_page_can_be_checked(claim):
    declared = Claim.model_validate(claim)
    assert Claim.model_validate(declared.model_dump()) == declared


def test_the_page_has_every_function_that_a_claim_may_call_and_each_can_be_read():
    rows = re.findall(r"^\| (`.+?`) \| ", PAGE.read_text(), re.MULTILINE)
    assert {signature_text(name) for name in SIGNATURES} <= {
        text for row in rows for text in re.findall(r"`(.+?)`", row)
    }
    assert {*SIGNATURES} == {*METRICS, *COMBINED}


@pytest.mark.parametrize("registry", [TABLES, FIGURES], ids=["tables", "figures"])
def test_the_page_names_every_kind(registry):
    assert all(f"`{kind}`" in PAGE.read_text() for kind in registry)
