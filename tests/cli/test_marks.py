"""What a terminal prints has the marks of tables: † is no guarantee, ‡ an estimate."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
(SEED,) = ROOT.glob("results/reference/runs/bdp2019/iid_n100_dp/seed0-*.parquet")
PRINTED = {  # what a terminal is asked, and an ε that it must say with its mark alone
    "show bdp2019 table2": "7.62†",
    "show bdp2019 table2 100": "7.62†",
    "show bdp2019 table2 100 bdp": "1.98 ± 0.02‡",
    "show global_dp table": "7.93†",
    "show nbafl labels": "10†",
    f"account {SEED}": "21.65†",
    "rr-epsilon --gamma .1 --rounds 100 --delta 1e-5": "0.009331†",
}


@pytest.mark.parametrize("typed", PRINTED, ids=lambda typed: typed.replace(str(ROOT), ""))
def test_the_terminal_marks_what_is_no_guarantee(typed, fedpriv, monkeypatch):
    monkeypatch.chdir(ROOT)
    code, out, _ = fedpriv(*typed.split())
    text = "\n".join(out)
    assert code == 0 and PRINTED[typed] in text
    # As records: an ε of a status that is no guarantee has a mark, and a guarantee has none.
    for epsilon, status in re.findall(
        r"ε: (\S+).*?status: (guarantee|not a guarantee|estimate)", text, re.DOTALL
    ):
        assert epsilon == "inf" or (epsilon[-1] in "†‡") == (status != "guarantee")
