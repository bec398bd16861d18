"""From finished runs to tables, figures and verdicts; functions from files to files, none needs torch."""
