# ruff: noqa: F821, SIM115
"""Put all runs of a paper into its tables."""

import sys
from pathlib import Path

from fedpriv.config.finished import check, note
from fedpriv.report.collect import collect

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
check(snakemake.params.planned)
runs = sorted({Path(file).parent for file in snakemake.input})
collect(runs, Path(snakemake.output[0]).parent)
note(snakemake.params.made, Path(snakemake.output.made))
