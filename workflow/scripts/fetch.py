# ruff: noqa: F821, SIM115
"""Fetch one raw file; FEDPRIV_MIRROR and the config's mirrors come before the public sources."""

import sys
from pathlib import Path

from fedpriv.data import named, source

sys.stderr = sys.stdout = open(snakemake.log[0], "w", buffering=1)
wanted = named(snakemake.wildcards.dataset)
file = next(file for file in wanted.files if file.name == snakemake.wildcards.file)
mirrors = source.mirrors(snakemake.config.get("mirrors", []))
source.fetch(wanted, file, Path(snakemake.output[0]).parent, mirrors)
