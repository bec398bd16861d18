"""A table becomes files for machines and for people."""

import pandas as pd

from fedpriv.report.tables import write


def test_a_table_becomes_four_files(frame, declared, tmp_path):
    written = write(frame, declared, tmp_path / "tables" / "table1")
    assert [path.suffix for path in written] == [".csv", ".md", ".tex", ".html"]
    assert "97.1 ± 0.2" in (tmp_path / "tables/table1.md").read_text()
    assert len(pd.read_csv(tmp_path / "tables/table1.csv")) > 20


def test_the_latex_has_booktabs_rules_and_only_ascii(frame, declared, tmp_path):
    write(frame, declared, tmp_path / "table1")
    text = (tmp_path / "table1.tex").read_text()
    assert text.isascii()
    assert all(rule in text for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\label{tab:table1}"))
    assert text.count("{") == text.count("}")
    assert r"Privacy ($\varepsilon$, $\delta$)" in text and "10$^{-3}$" in text
