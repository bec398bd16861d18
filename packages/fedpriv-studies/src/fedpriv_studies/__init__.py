"""Studies beside fedpriv: published budgets as guarantees, handcrafted features, correlated noise."""

from pathlib import Path

PAPERS = Path(__file__).with_name("papers")
GUARANTEES, GUARANTEES_SEARCH, HANDCRAFTED2021, TUTORIAL2019 = (
    PAPERS / name for name in ("guarantees", "guarantees_search", "handcrafted2021", "tutorial2019")
)
