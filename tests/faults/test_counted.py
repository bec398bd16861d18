"""docs/reliability.md says what is tried here, and how much it is."""

import re
from importlib import import_module
from pathlib import Path

HERE = Path(__file__)
PAGE = HERE.parents[2] / "docs/reliability.md"
MODULES = sorted(path.stem for path in HERE.parent.glob("test_*.py") if path != HERE)
FAULTS = [fault for name in MODULES for fault in import_module(name).FAULTS]


def test_no_fault_is_counted_twice():
    assert len({str(fault) for fault in FAULTS}) == len(FAULTS) >= 25


def test_the_page_lists_every_fault_and_counts_them():
    page = PAGE.read_text(encoding="utf-8")
    assert f"**{len(FAULTS)} faults**" in page
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE)
    wanted = [(fault.broken, fault.when, fault.ends) for fault in FAULTS]
    assert rows[1:] == wanted, "\n".join("| " + " | ".join(row) + " |" for row in wanted)
