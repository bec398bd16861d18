# ruff: noqa: F821, SIM115
"""Render one table."""

import sys
from pathlib import Path

from fedpriv.paper.kinds import TABLES
from fedpriv.report.tables import write

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
declared = TABLES[snakemake.params.declared["kind"]].model_validate(snakemake.params.declared)
write(Path(snakemake.input[0]), declared, Path(snakemake.output.csv).with_suffix(""))
