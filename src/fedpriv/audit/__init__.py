"""Lower bounds under ε: attacks on what was run, or on a mechanism by itself. Nothing here trains."""
