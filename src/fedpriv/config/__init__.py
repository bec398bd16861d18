"""One run, one preset, and the list of runs that a preset asks for; free of torch."""
