# ruff: noqa: F821, SIM115
"""Train runs, one after the other, or go on with them."""

import sys
from pathlib import Path

from fedpriv.cli.batch import train_each
from fedpriv.config.plan import make_plan

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
plan = make_plan(snakemake.config, Path("config/papers"))
train_each(snakemake.params.runs, plan, snakemake.threads)
