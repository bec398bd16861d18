"""One of each kind that a package can add to fedpriv."""

from pathlib import Path

STRIPED = Path(__file__).parent / "papers" / "striped"
