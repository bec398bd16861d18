# ruff: noqa: F821, SIM115
"""Deal the training examples to the clients."""

import sys
from pathlib import Path

from fedpriv.inputs import write_partition
from fedpriv.plan import make_plan

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
run = make_plan(snakemake.config, Path("config/papers")).partitions()[snakemake.wildcards.partition]
write_partition(run, int(snakemake.wildcards.seed), Path(snakemake.input[0]), Path(snakemake.output[0]))
