# ruff: noqa: F821, SIM115
"""Train runs, one after the other, or go on with them; what is kept is taken from there."""

import sys
from pathlib import Path

from fedpriv.cli.batch import train_each
from fedpriv.local.work import Speed

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
speed = Speed(**snakemake.config.get("speed", {}) | {"threads": snakemake.threads})
reference = None if snakemake.config.get("again") else Path("results/reference")
train_each(snakemake.params.runs, speed, reference)
