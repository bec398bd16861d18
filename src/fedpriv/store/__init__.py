"""Files that are written whole or not at all, where a run is, and the machine that computed it."""
