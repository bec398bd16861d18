# ruff: noqa: F821, SIM115
"""Find a dataset's photographs, look at every one and list them."""

import sys
from pathlib import Path

from fedpriv.data import manifest, of_photographs, source

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
mirrors = source.mirrors(snakemake.config.get("mirrors", []))
manifest.write(of_photographs()[snakemake.wildcards.dataset], mirrors, Path(snakemake.output[0]))
