"""The tables of the README are those that are kept, whatever stood there before."""

from pathlib import Path

import pytest

from fedpriv.docs import front

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
row,column,source,quantity,value,low,high,seeds,status
1000,none,published,accuracy,0.97,,,,
1000,none,reproduced,accuracy,0.98,0.96,1.0,3,ok
1000,dp,published,accuracy,0.9,,,,
1000,dp,published,epsilon,8,,,,
1000,dp,published,delta,0.001,,,,
1000,dp,reproduced,accuracy,0.5,,,1,ok
1000,dp,reproduced,epsilon,7.984,7.984,7.984,1,ok
1000,dp,reproduced,delta,0.001,0.001,0.001,1,ok
1000,dp,reproduced,epsilon,0.05,0.04,0.06,3,ok
1000,dp,reproduced,delta,1e-5,1e-5,1e-5,3,ok
by hand,none,reproduced,accuracy,,,,,not run
by hand,dp,reproduced,accuracy,,,,3,diverged
"""
TABLE = """
| data | clients |  | baseline | DP | DP (ε, δ) |
|---|---|---|---|---|---|
| MNIST | 1,000 | reproduced | 98.0 ± 2.0 | 50.0 | (7.98, 10⁻³), (0.050 ± 0.010, 10⁻⁵) |
|  |  | published | 97 | 90 | (8, 10⁻³) |
|  | by hand | reproduced | not run | diverged |  |
|  |  | published |  |  |  |
"""


def page(root, table, numbers, readme):
    """Return the page that a README becomes where one table is kept."""
    (root / "results/reference/paper/some/tables").mkdir(parents=True)
    (root / f"results/reference/paper/some/tables/{table}.csv").write_text(numbers, encoding="utf-8")
    (root / "README.md").write_text(readme, encoding="utf-8")
    return front.page(root)


@pytest.mark.parametrize("before", ["", "\n| an | old |\n|---|---|\n| table | 1 |\n"], ids=["none", "old"])
def test_a_table_is_written_below_its_comment_and_nothing_else_is_touched(tmp_path, before):
    around = "Before.\n\n| by | hand |\n\n{}\nAfter.\n\n| by | hand |\n"
    assert page(tmp_path, "one", CELLS, around.format(COMMENT + before)) == around.format(COMMENT + TABLE)


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
run,column,quantity,value,low,high,seeds,status
iid_code_none,last round,accuracy_last,0.98,0.96,1.0,3,
iid_code_none,one bit,epsilon,inf,,,3,
iid_code_g10,last round,accuracy_last,0.5,,,1,
iid_code_g10,one bit,epsilon,23.65,23.65,23.65,3,
iid_signs_g10,last round,accuracy_last,0.9,,,1,
iid_signs_g10,one bit,epsilon,670123,670123,670123,1,
iid_paper_g10,last round,accuracy_last,,,,3,diverged
iid_paper_g10,one bit,epsilon,23.65,23.65,23.65,3,
"""
LINES = """
| data | reading | no noise | γ = 0.1 |
|---|---|---|---|
| MNIST | released | 98.0 ± 2.0 (∞) | 50.0 (23.65) |
|  | printed | not run | 90.0 (6.70 · 10⁵) |
|  | drawn | not run | diverged (23.65) |
"""


def test_a_grid_has_a_line_a_family_of_runs_and_says_what_was_not_run(tmp_path):
    assert page(tmp_path, "gammas", NUMBERS, GRID) == GRID + LINES


def test_the_readme_has_all_four_tables_of_the_paper():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    comments = [comment for comment, *_ in front.BLOCK.findall(readme)]
    assert all(any(f"table{number}:" in one for one in comments) for number in (1, 2, 3, 4))
