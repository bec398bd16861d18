# ruff: noqa: F821, SIM115
"""Attack all runs of a paper."""

import sys
from pathlib import Path

from fedpriv.audit.finished import audit_runs
from fedpriv.config.finished import note

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
audit_runs(sorted({Path(file).parent for file in snakemake.input}), Path(snakemake.output[0]))
note(snakemake.params.made, Path(snakemake.output.made))
