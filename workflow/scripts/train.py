# ruff: noqa: F821, SIM115
"""Train runs, one after the other, or go on with them."""

import sys

from fedpriv.cli.batch import train_each
from fedpriv.local.work import Speed

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
speed = Speed(**snakemake.config.get("speed", {}) | {"threads": snakemake.threads})
train_each(snakemake.params.runs, speed)
