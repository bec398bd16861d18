"""Both ε of a row, of the runs of Tables I to III at every size: the table is that of bdp2019_readings."""

import runpy
from pathlib import Path

READINGS = Path(__file__).parents[1] / "bdp2019_readings/tables.py"


def pairs(results, declared, name):
    """Return the table: for every row and way of counting how many runs have the pair, and the nearest."""
    return runpy.run_path(str(READINGS))["pairs"](results, declared, name)
