"""What a GPU computes, how fast and in how much memory; writes one page of tables.

    python benchmarks/on_gpu.py --out benchmarks/results/gpu.md
    RACED_DEVICE=cpu python benchmarks/on_gpu.py --small      # the same on a CPU, with sizes cut

Every scheme is trained on the CPU and twice on the GPU. The update of one client is compared with float64.
The workloads are raced against the plain loop on the same GPU, rounds of 10,000 clients too. All of it is one
process, in about a minute.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

os.environ.setdefault("RACED_DEVICE", "cuda")  # before `work` is read
ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))  # for `support`

import features  # noqa: E402
import gradients  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import torch  # noqa: E402
import work  # noqa: E402
from contenders import ours, plain  # noqa: E402
from laps import Laps  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from support.made_run import BY_SCHEME, RUN, write_noise  # noqa: E402
from torch.nn.utils import parameters_to_vector  # noqa: E402
from workload import BNN, W1, W2, W4, W5, W5_DPSGD, W6, WORKLOADS, Workload  # noqa: E402

from fedpriv import data  # noqa: E402
from fedpriv.config.run import Run  # noqa: E402
from fedpriv.data import source  # noqa: E402
from fedpriv.local.work import Speed  # noqa: E402
from fedpriv.machine.environment import peak_mib  # noqa: E402
from fedpriv.trace import MEASURED  # noqa: E402
from fedpriv.train import inputs  # noqa: E402
from fedpriv.train.loop import train  # noqa: E402

ROUNDS = {"w1": 20, "w2": 5, "bnn": 5, "w4": 10, "w5": 10, "w5-dpsgd": 5, "w6": 50}
# Three rounds of Table II of the 2019 paper with 10,000 clients, a cohort of a fixed size.
LARGE = W4._replace(clients=10_000, cohort=300)


def schemes(folder: Path) -> pd.DataFrame:
    """Return how far a run of each scheme on the GPU is from that on the CPU, and from itself."""
    files, lines = write_noise(folder / "noise.npz"), []
    for name, changes in BY_SCHEME.items():
        run = Run.model_validate(RUN | changes)
        dealt = inputs.write_partition(run, 0, files, folder / "partition.npz")
        cpu, gpu, again = (
            train(run, "tiny", 0, files, dealt, folder / f"{name}{turn}", speed, {})
            for turn, speed in enumerate((Speed(device="cpu"), ours.speed("float32"), ours.speed("float32")))
        )
        weights = [load_file(out / "model.safetensors")["flat"].double() for out in (cpu, gpu, again)]
        traces = [
            pd.read_parquet(out / "trace.parquet").drop(columns=[*MEASURED]) for out in (cpu, gpu, again)
        ]
        ratio = traces[1]["norm_median"] / traces[0]["norm_median"]
        lines.append(
            {
                "scheme": name,
                "weights, relative L2 difference from the CPU": f"{distance(weights[1], weights[0]):.1e}",
                "weights that differ by more than 1e-3": f"{share_apart(weights[1], weights[0]):.2%}",
                "norms, largest relative difference": f"{float((ratio - 1).abs().max()):.1e}",
                "twice the same bits": torch.equal(*weights[1:]) and traces[1].equals(traces[2]),
            }
        )
    return pd.DataFrame(lines)


def distance(one: torch.Tensor, other: torch.Tensor) -> float:
    return float((one - other).norm() / other.norm())


def share_apart(one: torch.Tensor, other: torch.Tensor) -> float:
    return float(((one - other).abs() > 1e-3).double().mean())


def data_for(workload: Workload, mnist: Path) -> AbstractContextManager[Path]:
    """Return the file of a workload's data: the features of photographs are made up."""
    return features.data_for(workload, Path("none") if workload.model == "head" else mnist)


def updates(path: Path) -> pd.DataFrame:
    """Return how far the update of one client is from float64, by the plain loop and by fedpriv."""
    lines = []
    for workload in (WORKLOADS[name] for name in gradients.CHECKED):
        with data_for(workload, path) as here:
            held = work.load(here)
            rows = work.shares(workload, held)[0][: workload.expected]
            weights = parameters_to_vector(work.network(workload).parameters()).detach()
            right = gradients.reference(workload, held, rows)
            found = {
                name: contender.update(workload, here, weights, rows, "float32").detach().double()
                for name, contender in {"plain loop": plain, "fedpriv": ours}.items()
            }
        lines.append({"work": workload.name} | {k: f"{distance(v, right):.1e}" for k, v in found.items()})
    return pd.DataFrame(lines)


def raced(workload: Workload, path: Path, rounds: int, race: Callable[..., Any]) -> tuple[float, float]:
    """Return the rounds a second and the peak of memory, MiB, of one contender."""
    if work.DEVICE.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    laps = Laps(workload, rounds)
    race(workload, path, laps, "float32")
    return rounds / laps.seconds, peak_mib(work.DEVICE)


def peak(small: bool) -> float:
    """Return the GFLOP/s of a large product of float32 matrices, the best of 5."""
    size, times = 512 if small else 8192, []
    one, other = torch.randn(2, size, size, device=work.DEVICE).unbind()
    for _ in range(6):
        started = time.perf_counter()
        float((one @ other)[0, 0])  # waits for it
        times.append(time.perf_counter() - started)
    return 2 * size**3 / min(times[1:]) / 1e9


def races(path: Path, small: bool) -> pd.DataFrame:
    """Return speed and memory of the workloads, ours beside the plain loop; it knows no binary network."""
    most, lines = peak(small), []
    for workload in (W1, W2, BNN, W4, W5, W5_DPSGD, W6, LARGE):
        rounds = 3 if workload is LARGE else ROUNDS[workload.name]
        if small:
            workload, rounds = workload._replace(clients=20, cohort=4), 1
        with data_for(workload, path) as here:
            speed, memory = raced(workload, here, rounds, ours.race)
            beside = done = np.nan
            if workload.model != "bnn":
                beside = raced(workload, here, 1 + rounds // 5, plain.race)[0]
                done = speed * workload.examples * work.flop_per_example(workload) / 1e9
        lines.append(
            {
                "work": f"{workload.name}, {workload.cohort} of {workload.clients:,} clients",
                "rounds/s": speed,
                "plain loop": beside,
                "ratio": speed / beside,
                "GFLOP/s": done,
                f"% of {most:,.0f}": 100 * done / most,
                "peak MiB": memory,
            }
        )
        print(lines[-1], flush=True)
    return pd.DataFrame(lines)


def machine() -> str:
    """Return what it ran on."""
    name = torch.cuda.get_device_name() if work.DEVICE.type == "cuda" else "CPU"
    return f"{name}, torch {torch.__version__}, CUDA {torch.version.cuda}, Python {sys.version.split()[0]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--resources", type=Path, default=Path("resources"))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/gpu.md"))
    parser.add_argument("--small", action="store_true", help="cut sizes, to try this program on a CPU")
    asked = parser.parse_args()
    started = time.perf_counter()
    path = data.prepare("mnist", asked.resources, source.mirrors([]))
    with tempfile.TemporaryDirectory() as folder:
        tables = {
            "Every scheme, a few rounds on noise": schemes(Path(folder)),
            "The update of one client, relative L2 difference from float64": updates(path),
            "Speed and memory": races(path, asked.small),
        }
    text = f"# On a GPU\n\n{machine()}, {time.perf_counter() - started:.0f} s in all.\n"
    for title, table in tables.items():
        text += f"\n## {title}\n\n{table.to_markdown(index=False, floatfmt='.3g')}\n"
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
