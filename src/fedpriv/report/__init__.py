"""From finished runs to tables, figures and verdicts; functions from files to files, none needs torch.

    runs ──> collect ──> results ──> metrics ──> tables, figures, claims ──> render, page

- `collect` gathers finished runs in three tables; `results` reads them, and reads of a run a round and a
  value for each seed.
- `metrics`: every number that can be read of a run, once, as a `Sample` of `sample`: by seed, with its
  interval. Tables, figures, claims and captions all ask there.
- `numbers` prints, `sample` decides, `verdicts` has the words and counts them, `sentences` puts both sides of
  a claim into words, `stability` says of which accuracy nothing follows.
- `tables` and `figures` have a file for each kind; `lines` is a table for machines, `notes` stand below.
- `claims` judges; `render` writes each medium, `texts` escapes for it; `page` is the report; `compared` reads
  finished files again.
"""

# Raise it with every change of what is found by audits, collected or rendered: all of it is made again.
RENDER_VERSION = 6
