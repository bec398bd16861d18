# ruff: noqa: F821, SIM115
"""Account one run's trace."""

import sys
from pathlib import Path

from fedpriv.account.ledger import account
from fedpriv.account.spend import Deltas

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
account(Path(snakemake.input.trace).parent, Deltas(**snakemake.params.deltas))
