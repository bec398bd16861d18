# ruff: noqa: F821, SIM115
"""Train one run at one seed, or go on with it."""

import sys
from pathlib import Path

from fedpriv.config.run import Run
from fedpriv.local.work import Speed
from fedpriv.train.loop import train

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
speed = Speed(**snakemake.config.get("speed", {}) | {"threads": snakemake.threads})
run, labels, wildcards = Run(**snakemake.params.run), snakemake.params.labels, snakemake.wildcards
inputs = Path(snakemake.input.arrays), Path(snakemake.input.partition)
train(run, wildcards.run, int(wildcards.seed), *inputs, Path(snakemake.output.trace).parent, speed, labels)
