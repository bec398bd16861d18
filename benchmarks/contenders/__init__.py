"""One file a contender; each has `race` (train, timed by `Laps`), and most `update` (of one client)."""
