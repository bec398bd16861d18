# ruff: noqa: F821, SIM115
"""Make arrays of data of one's own."""

import sys
from pathlib import Path

from fedpriv.config.plan import make_plan
from fedpriv.data.own import prepare

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
own = make_plan(snakemake.config, Path("config/papers")).own_data()[snakemake.wildcards.arrays]
prepare(own, Path(snakemake.output[0]).parent)
