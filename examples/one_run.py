"""One private training from data to ε, without Snakemake: run it anywhere, it needs no download.

    python examples/one_run.py

A hundred clients hold the digits of scikit-learn. In every round a tenth of them takes one step of SGD, their
updates are clipped and summed, and the server adds Gaussian noise. What happened is in the trace; ε is
counted from the trace alone.
"""

import tempfile
from pathlib import Path

import pandas as pd

from fedpriv.account import calibrate, ledger, statements
from fedpriv.config.run import Run
from fedpriv.local.work import Speed
from fedpriv.train import inputs
from fedpriv.train.loop import train

EPSILON, DELTA, ROUNDS, RATE = 8.0, 1e-5, 60, 0.1


def main(folder: Path) -> pd.DataFrame:
    """Train in `folder`, print the accuracies and every ε; return the trace."""
    noise = calibrate(epsilon=EPSILON, delta=DELTA, sampling_rate=RATE, rounds=ROUNDS)
    run = Run.model_validate(
        {
            "dataset": "digits",
            "partition": {"law": "iid", "clients": 100, "examples": 14},
            "model": {"name": "mlp", "widths": [32]},
            "local": {"name": "fedsgd", "batch_size": 14},
            "cohort": {"law": "poisson", "rate": RATE},
            "scheme": {"name": "client_dp", "clip_l2": 1.0, "noise_multiplier": noise},
            "server": {"learning_rate": 0.5},
            "rounds": ROUNDS,
        }
    )
    speed, seed = Speed(), 0
    arrays = inputs.prepare(run, folder, [], speed)
    clients = inputs.write_partition(run, seed, arrays, folder / "partition.npz")
    trained = train(run, "one_run", seed, arrays, clients, folder / "run", speed, {})
    trace = pd.read_parquet(trained / "trace.parquet")
    print(trace[["round", "cohort_size", "test_accuracy"]].dropna().to_string(index=False))
    print(*statements(ledger(trace, DELTA)), sep="\n")
    return trace


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(made))
