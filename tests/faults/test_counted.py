"""README.md lists what is tried here, and docs/fault-tolerance.md says how much it is."""

import re
from importlib import import_module
from pathlib import Path

HERE = Path(__file__)
PAGE = HERE.parents[2] / "docs/fault-tolerance.md"
LIST = HERE.parent / "README.md"
MODULES = sorted(path.stem for path in HERE.parent.glob("test_*.py") if path != HERE)
FAULTS = [fault for name in MODULES for fault in import_module(name).FAULTS]


def test_no_fault_is_counted_twice():
    assert len({str(fault) for fault in FAULTS}) == len(FAULTS) >= 25


def test_the_list_has_every_fault_and_the_page_counts_them():
    assert f"**{len(FAULTS)} faults**" in PAGE.read_text(encoding="utf-8")
    listed = LIST.read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", listed, re.MULTILINE)
    wanted = [(fault.broken, fault.when, fault.ends) for fault in FAULTS]
    assert rows[1:] == wanted, "\n".join("| " + " | ".join(row) + " |" for row in wanted)
