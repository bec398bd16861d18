# ruff: noqa: F821, SIM115
"""Compute the features of a dataset's photographs, or go on with it."""

import sys
from pathlib import Path

from fedpriv.config.plan import make_plan
from fedpriv.local.work import Speed
from fedpriv.train.inputs import write_features

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
speed = Speed(**snakemake.config.get("speed", {}) | {"threads": snakemake.threads})
run = make_plan(snakemake.config, Path("config/papers")).features()[snakemake.wildcards.arrays]
write_features(run, Path(snakemake.input[0]), Path(snakemake.output[0]), speed)
