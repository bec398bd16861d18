"""The training of one run, from its state before the first round to the files it leaves."""
