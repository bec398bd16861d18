"""Both ε of a row, of the runs of Tables I to III at every size: the table is that of bdp2019_readings."""

import runpy
from pathlib import Path

pairs = runpy.run_path(str(Path(__file__).parents[1] / "bdp2019_readings/tables.py"))["pairs"]
