# ruff: noqa: F821, SIM115
"""Judge the claims of a paper."""

import sys
from pathlib import Path

from fedpriv.report.claims.write import write

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
write(Path(snakemake.input[0]), snakemake.params.declared, Path(snakemake.output.csv).with_suffix(""))
