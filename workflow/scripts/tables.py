# ruff: noqa: F821, SIM115
"""Render the tables of a paper and judge its claims."""

import sys
from pathlib import Path

from fedpriv.config.finished import note
from fedpriv.report.paper import write_tables

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
write_tables(Path(snakemake.input[0]).parent, snakemake.params.declared)
note(snakemake.params.made, Path(snakemake.output.made))
