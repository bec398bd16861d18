"""From finished runs to tables, figures and verdicts; functions from files to files, none needs torch."""

# Raise it with every change of what is found by audits, collected or rendered: all of it is made again.
RENDER_VERSION = 5
