# ruff: noqa: F821, SIM115
"""Put all runs of a paper into one frame."""

import sys
from pathlib import Path

from fedpriv.report.collect import collect

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
collect(sorted({Path(file).parent for file in snakemake.input}), Path(snakemake.output[0]))
