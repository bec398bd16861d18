# ruff: noqa: F821, SIM115
"""Draw the figures of a paper."""

import sys
from pathlib import Path

from fedpriv.config.finished import note
from fedpriv.report.paper import write_figures

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
write_figures(Path(snakemake.input[0]).parent, snakemake.params.declared)
note(snakemake.params.made, Path(snakemake.output.made))
