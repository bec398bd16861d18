"""What no move of code may change: every run's identity, and what a short run of each scheme computes.

`python tests/train/pin.py` writes the pins anew, for a change of results that is meant to be one.
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import torch

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "tests"))  # for `support`, outside of pytest

from support.made_run import BY_SCHEME, RUN, go, result, write_noise  # noqa: E402

from fedpriv.config.plan import load_preset  # noqa: E402
from fedpriv.errors import BadInput  # noqa: E402
from fedpriv.frozen import RESULTS_VERSION  # noqa: E402
from fedpriv.store.machine import processor  # noqa: E402

# Columns of a trace that came after the pins were taken.
LATER = (
    *("denominator", "topped_up", "noise_in_sum", "noise_clipped", "holders", "count_noise_multiplier"),
    *("uploads_apart", "neighbours_apart", "test_perplexity", "test_auroc", "test_f1", "test_error"),
    *("test_worst_owner", "test_owner_std"),
    *("mechanism", "upload_noise_least"),
    *("statistics_releases", "statistics_noise_multiplier", "numbers"),
)


def identities() -> dict[str, str]:
    """Return one hash a preset and paper: of the identities of all its runs at seeds 0 and 1."""
    found = {}
    for path in sorted((ROOT / "config").glob("*.yaml")):
        try:
            plan = load_preset(path)
        except BadInput as error:
            if "is of the package fedpriv-studies" not in str(error):
                raise
            continue
        for paper, runs in plan.runs.items():
            text = [
                [name, [run.identity(name, seed) for seed in (0, 1)]] for name, run in sorted(runs.items())
            ]
            found[f"{path.stem}/{paper}"] = hashlib.sha256(json.dumps(text).encode()).hexdigest()[:16]
    return found


def computed(name: str, folder: Path) -> dict[str, object]:
    """Return a digest of all that the run `name` leaves, and some numbers that rounding hardly moves."""
    files = write_noise(folder / "noise.npz")
    out = go(RUN | BY_SCHEME[name], files, folder / "run", threads=1)
    digest = hashlib.sha256(repr(result(out, without=LATER)).encode()).hexdigest()[:16]
    trace = pd.read_parquet(out / "trace.parquet")
    columns = ("norm_median", "train_loss", "share_clipped", "noise_std")
    numbers = {column: [float(f"{value:.4g}") for value in trace[column]] for column in columns}
    with np.load(out / "distances.npz") as file:
        for distance in sorted(file.files):
            numbers[distance] = float(f"{np.nansum(file[distance], dtype=float):.4g}")
    return {"digest": digest, "numbers": numbers}


def arithmetic() -> str:
    """Return what the last bits depend on beside the code: the processor, and torch."""
    version = torch.__version__.split("+")[0]
    return f"{processor()}, {torch.backends.cpu.get_cpu_capability()}, torch {version}"


def pins() -> dict[str, object]:
    """Return what is pinned, as this code has it."""
    runs = {}
    for name in BY_SCHEME:
        with tempfile.TemporaryDirectory() as folder:
            runs[name] = computed(name, Path(folder))
    return {
        "results_version": RESULTS_VERSION,
        "arithmetic": arithmetic(),
        "identities": identities(),
        "runs": runs,
    }


if __name__ == "__main__":
    (HERE / "pins.json").write_text(json.dumps(pins(), indent=1) + "\n")
