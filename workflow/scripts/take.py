# ruff: noqa: F821, SIM115
"""Account stored runs where they are, one after the other."""

import sys
from pathlib import Path

from fedpriv.cli.batch import take_each

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
take_each(list(map(Path, snakemake.input)), snakemake.params.runs)
