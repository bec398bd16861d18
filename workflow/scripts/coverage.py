# ruff: noqa: F821, SIM115
"""Measure how often the Bayesian estimate covers the true ε."""

import sys
from pathlib import Path

from fedpriv.account.coverage import write
from fedpriv.paper.read import read_yaml

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
write(read_yaml(Path(snakemake.input[0])), Path(snakemake.output.csv), Path(snakemake.output.markdown))
