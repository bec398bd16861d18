"""The training of one run, from its state before the first round to the files it leaves.

    run ──> inputs ──> loop ──> record
                        │ every round: round, evaluate, checkpoint

- `loop`: all of it, in four steps; start reading there.
- `round`: one round, in seven: who comes, what they send, what is released, what the server makes of it.
- `inputs`: the data, the model and the partition of a run.
- `record`: the state that a round changes, and the four files at the end: trace, summary, weights, distances.
- `checkpoint`: the state on disk; a run that was killed goes on to the same bits.
- `evaluate`: accuracies, on a test split and by client.
- `probes`: the canaries of a run that will be attacked.

Nothing here knows an ε: what happened is written down, and `fedpriv.account` reads it.
"""
