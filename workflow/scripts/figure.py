# ruff: noqa: F821, SIM115
"""Draw one figure."""

import sys
from pathlib import Path

from fedpriv.paper.kinds import FIGURES
from fedpriv.report.figures import write

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
declared = FIGURES[snakemake.params.declared["kind"]].model_validate(snakemake.params.declared)
write(Path(snakemake.input[0]), declared, Path(snakemake.output.pdf).with_suffix(""))
