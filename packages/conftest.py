"""Tests of the packages share what those of the suite do."""

from support.fixtures import committed, files, no_hurry, no_terminal, tiny  # noqa: F401
