# ruff: noqa: F821, SIM115
"""Put all that was built of a preset on one page."""

import sys
from pathlib import Path

from fedpriv.config.finished import note
from fedpriv.report.page import write

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
write(snakemake.params.declared, Path(snakemake.output[0]), Path("results/reference/paper"))
note(snakemake.params.made, Path(snakemake.output.made))
