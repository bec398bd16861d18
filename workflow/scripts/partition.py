# ruff: noqa: F821, SIM115
"""Deal the training examples to the clients."""

import sys
from pathlib import Path

from fedpriv.config.plan import make_plan
from fedpriv.train.inputs import write_partition

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
run = make_plan(snakemake.config, Path("config/papers")).partitions()[snakemake.wildcards.partition]
write_partition(run, int(snakemake.wildcards.seed), Path(snakemake.input[0]), Path(snakemake.output[0]))
