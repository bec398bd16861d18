"""From collected runs to verdicts on what a paper claims."""
