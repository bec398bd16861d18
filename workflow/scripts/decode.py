# ruff: noqa: F821, SIM115
"""Decode a dataset's raw files into arrays."""

import sys
from pathlib import Path

from fedpriv.data import decode

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
decode(snakemake.wildcards.dataset, Path(snakemake.output[0]).parent)
