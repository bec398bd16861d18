"""One file a contender; each has `race` (train, timed by `Laps`) and `update` (of one client)."""
