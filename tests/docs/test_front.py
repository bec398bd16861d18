"""The README and the findings have the tables and the numbers of the stored results, and no comment."""

import re
from pathlib import Path

import pandas as pd
import pytest
import yaml

from fedpriv.docs import front, guaranteed, picture

ROOT = Path(__file__).parents[2]
COMMENT = """\
<!-- table
of: paper/some
heads: [data, clients]
tables: {one: MNIST}
columns: {none: baseline, dp: DP}
spends: {dp: "DP (ε, δ)"}
-->
"""
CELLS = """\
row,column,source,quantity,value,low,high,seeds,status,epsilon_status
1000,none,published,accuracy,0.97,,,,,
1000,none,reproduced,accuracy,0.98,0.96,1.0,3,ok,
1000,dp,published,accuracy,0.9,,,,,
1000,dp,published,epsilon,8,,,,,
1000,dp,published,delta,0.001,,,,,
1000,dp,reproduced,accuracy,0.5,,,1,ok,
1000,dp,reproduced,epsilon,7.984,7.984,7.984,1,ok,guarantee
1000,dp,reproduced,delta,0.001,0.001,0.001,1,ok,
1000,dp,reproduced,epsilon,0.05,0.04,0.06,3,ok,estimate
1000,dp,reproduced,delta,1e-5,1e-5,1e-5,3,ok,
by hand,none,reproduced,accuracy,,,,,not run,
by hand,dp,reproduced,accuracy,,,,3,diverged,
"""
TABLE = """
| data | clients |  | baseline | DP | DP (ε, δ) |
|---|---|---|---|---|---|
| MNIST | 1,000 | reproduced | 98.0 ± 2.0 | 50.0 | (7.98, 10⁻³), (0.050 ± 0.010‡, 10⁻⁵) |
|  |  | published | 97 | 90 | (8, 10⁻³) |
|  | by hand | reproduced | not run | diverged |  |
|  |  | published |  |  |  |
"""
SEEDS = re.compile(r"\b(?:one|two|three|four|five|[0-9]+)\s+seeds?\b", re.I)  # a count that may age
TYPED = re.compile(r"```.*?```|^ {4}\S.*?$", re.MULTILINE | re.DOTALL)  # commands, which measure nothing


def page(root, table, numbers, source):
    """Return the page that a source becomes where one table is kept."""
    (root / "results/reference/paper/some/tables").mkdir(parents=True)
    (root / f"results/reference/paper/some/tables/{table}.csv").write_text(numbers, encoding="utf-8")
    (root / "source.md").write_text(source, encoding="utf-8")
    return front.written(root, root / "source.md")


def test_a_table_stands_in_place_of_its_comment_and_nothing_else_is_touched(tmp_path):
    around = "Before.\n\n| by | hand |\n\n{}\nAfter.\n"
    assert page(tmp_path, "one", CELLS, around.format(COMMENT)) == around.format(TABLE.lstrip())


GRID = """\
<!-- grid
of: paper/some
heads: [data, reading]
tables: {gammas: MNIST}
rows: {code: released, signs: printed, paper: drawn}
columns: {none: no noise, g10: γ = 0.1}
runs: "*_{row}_{column}"
show: "{last round} ({one bit})"
-->
"""
NUMBERS = """\
run,column,quantity,value,low,high,seeds,status,epsilon_status
iid_code_none,last round,accuracy_last,0.98,0.96,1.0,3,,
iid_code_none,one bit,epsilon,inf,,,3,,guarantee
iid_code_g10,last round,accuracy_last,0.5,,,1,,
iid_code_g10,one bit,epsilon,23.65,23.65,23.65,3,,guarantee
iid_signs_g10,last round,accuracy_last,0.9,,,1,,
iid_signs_g10,one bit,epsilon,670123,670123,670123,1,,guarantee
iid_paper_g10,last round,accuracy_last,,,,3,diverged,
iid_paper_g10,one bit,epsilon,23.65,23.65,23.65,3,,not a guarantee: so
"""
LINES = """
| data | reading | no noise | γ = 0.1 |
|---|---|---|---|
| MNIST | released | 98.0 ± 2.0 (∞) | 50.0 (23.65) |
|  | printed | not run | 90.0 (6.70 · 10⁵) |
|  | drawn | not run | diverged (23.65†) |
"""


def test_a_grid_has_a_line_a_family_of_runs_and_says_what_was_not_run(tmp_path):
    assert page(tmp_path, "gammas", NUMBERS, GRID) == LINES.lstrip()


def quoted(folder, quote):
    path = folder / "paper/some/tables/one.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(CELLS, encoding="utf-8")
    (folder / "paper/some/claims.csv").write_text(CLAIMS, encoding="utf-8")
    front.read.cache_clear()
    return front.filled(f"{{{{paper/some/{quote}}}}}", folder)


CLAIMS = (
    'id,measured\nmore,"N = 1: gain −2.0 ± 8.7 points (undecided); '
    'N = 10: 93.4 ± 1.0 % against 84.8 (holds)"\n'
)


@pytest.mark.parametrize(
    ("quote", "number"),
    [
        ("one | 1000 | none | seeds", "3"),
        ("one | 1000 | none", "98.0 ± 2.0"),
        ("one | 1000 | none | mean", "98.0"),
        ("one | 1000 | none | published", "97"),
        ("one | 1000 | dp | published | epsilon", "8"),
        ("one | row=1000 | column=dp | value=7.984 | epsilon", "7.98"),
        ("one | row=1000 | column=dp | value=0.05 | epsilon | mean", "0.050‡"),
        ("claims | more | N = 1 | gain", "−2.0 ± 8.7"),
        ("claims | more | N = 10", "93.4 ± 1.0"),
        ("claims | more | N = 10 | against", "84.8"),
    ],
)
def test_a_quote_is_the_number_of_its_cell(tmp_path, quote, number):
    assert quoted(tmp_path, quote) == number


@pytest.mark.parametrize(
    "quote", ["one | 1 | none", "two | 1 | none", "claims | more | N = 3", "one | 1000 | dp | epsilon"]
)
def test_a_quote_of_no_cell_or_of_several_is_named(tmp_path, quote):
    with pytest.raises(ValueError, match=re.escape(quote)):
        quoted(tmp_path, quote)


def test_the_readme_says_how_many_seeds_a_preset_has():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    said = {name: int(seeds) for name, seeds in re.findall(r"^\| `(\w+)` \|.* (\d+) seeds? \|", text, re.M)}
    configs = {name: (ROOT / f"config/{name}.yaml").read_text(encoding="utf-8") for name in said}
    assert len(said) > 5 and {name: yaml.safe_load(one)["seeds"] for name, one in configs.items()} == said


def test_no_caption_of_a_table_says_how_many_seeds_there_are():
    captions = [
        one["caption"]
        for path in ROOT.glob("config/papers/*/tables.yaml")
        for one in yaml.safe_load(path.read_text(encoding="utf-8"))["tables"].values()
        if "caption" in one
    ]
    assert len(captions) > 20 and not any(re.search(SEEDS, caption) for caption in captions)


@pytest.mark.parametrize("source", front.SOURCES.values())
def test_no_measured_number_is_typed(source):
    text = (ROOT / "docs/source" / source).read_text(encoding="utf-8")
    prose = TYPED.sub("", front.BLOCK.sub("", front.QUOTE.sub("", text)))
    assert "±" not in prose
    assert not re.search(SEEDS, re.sub(r"^\|.*", "", prose, flags=re.M))
    typed = re.findall(r"(?<![=.\w] )(?<![.\w])\d+\.\d+(?![\w.])", prose)
    assert set(typed) <= {"3.11", "46.4"}  # Python, and the largest class of APTOS


def test_the_readme_is_short_and_its_first_command_comes_first():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.encode()) < 9_000 and text.count("\n") <= 150 and "<!--" not in text
    assert text.index("    git clone") < text.index("\n| ") < text.index("![")


def test_every_published_cell_of_the_picture_is_counted_and_the_picture_is_of_today():
    panels = picture.cells(ROOT)
    assert picture.told(ROOT / picture.PICTURE) == picture.shown(panels)
    assert {title: len(cells) for title, cells in panels.items()} == {
        "Table I, MNIST non-i.i.d.": 9,
        "Table II, MNIST i.i.d.": 9,
        "Table III, APTOS": 9,
        "Table IV, both levels": 9,
        "Geyer et al.": 3,
    }


def test_every_cell_with_a_guarantee_is_in_its_picture_and_the_picture_is_of_today():
    cells = guaranteed.cells(ROOT)
    assert picture.told(ROOT / guaranteed.PICTURE) == guaranteed.shown(cells)
    assert cells["table"].value_counts(sort=False).to_dict() == dict.fromkeys(guaranteed.TABLES, 3)


@pytest.mark.parametrize(("low", "filled"), [(0.88, True), (0.87, False), (float("nan"), False)])
def test_a_guarantee_is_filled_where_all_of_its_interval_is_at_what_is_published_or_above(low, filled):
    one = {"table": "table1", "row": "100", "published": 0.88, "estimate": 0.6, "value": 0.9, "high": 0.92}
    (axes,) = guaranteed.draw(pd.DataFrame([one | {"low": low}])).axes
    (drawn,) = (line for line in axes.lines if line.get_marker() == "D" and len(line.get_xdata()))
    assert (drawn.get_markerfacecolor() == "black") is filled


def test_the_counts_of_the_readme_add_up_to_what_is_published():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    counted = re.findall(r"\| (\d+): ([^|]*) \|", text)
    assert [int(total) for total, _ in counted] == [36, 9, 3, 4, 15]
    for total, parts in counted:
        assert sum(int(one) for one in re.findall(r"\b(\d+) [a-z]", parts)) == int(total)


def test_the_readme_says_guarantee_of_no_epsilon_whose_assumption_fails():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    said = {
        line.split("|")[1].strip(): line.split("|")[-2].strip()
        for line in lines
        if line.startswith("| ") and "**" in line
    }
    assert said["DP, as in the paper"].startswith("**not a guarantee**:")
    assert said["Bayesian DP, the same run"].startswith("**estimate**")
    assert said["DP with a small clipping norm, ours"] == "**guarantee**"
