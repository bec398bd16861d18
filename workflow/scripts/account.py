# ruff: noqa: F821, SIM115
"""Account the traces of runs, one after the other."""

import sys
from pathlib import Path

from fedpriv.cli.batch import account_each

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
account_each([Path(ledger).parent for ledger in snakemake.output], snakemake.params.deltas)
