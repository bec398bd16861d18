"""What a GPU computes, how fast and in how much memory; writes one page of tables.

    python benchmarks/on_gpu.py --out benchmarks/results/gpu.md
    RACED_DEVICE=cpu python benchmarks/on_gpu.py --small      # the same on a CPU, with sizes cut

Every scheme is trained on the CPU and twice on the GPU. The update of one client is compared with float64.
The workloads are raced against what an expert writes by hand on the same GPU, rounds of 10,000 clients too.
`--minutes` says when no further race is begun.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
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
from child import Failed, ask  # noqa: E402
from contenders import ours, plain  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from support.made_run import BY_SCHEME, RUN, write_noise  # noqa: E402
from torch.nn.utils import parameters_to_vector  # noqa: E402
from workload import WORKLOADS, Workload  # noqa: E402

from fedpriv import data  # noqa: E402
from fedpriv.config.run import Run  # noqa: E402
from fedpriv.data import source  # noqa: E402
from fedpriv.local.work import Speed  # noqa: E402
from fedpriv.trace import MEASURED  # noqa: E402
from fedpriv.train import inputs  # noqa: E402
from fedpriv.train.loop import train  # noqa: E402

# The most telling first.
ROUNDS = {"w1": 60, "w2": 15, "w4": 30, "w5": 15, "w5-dpsgd": 10, "w6": 60, "bnn": 5, "w4-large": 5}


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


def peak(small: bool) -> float:
    """Return the GFLOP/s of a large product of float32 matrices, the best of 5."""
    size, times = 512 if small else 8192, []
    one, other = torch.randn(2, size, size, device=work.DEVICE).unbind()
    for _ in range(6):
        started = time.perf_counter()
        float((one @ other)[0, 0])  # waits for it
        times.append(time.perf_counter() - started)
    return 2 * size**3 / min(times[1:]) / 1e9


# Who is raced, the most telling first: what is left when the time is over stays empty.
RACED = (
    ("ours", "float32", "fedpriv"),
    ("vmap_by_hand", "tf32", "vmap by hand, TF32"),
    ("jax_by_hand", "tf32", "JAX by hand, TF32"),
    ("ours", "tf32", "fedpriv, TF32"),
    ("vmap_by_hand", "float32", "vmap by hand"),
    ("jax_by_hand", "float32", "JAX by hand"),
    ("plain", "float32", "plain loop"),
)
TAKES_PART = {"vmap_by_hand": ("w1", "w2", "w4", "w6"), "jax_by_hand": ("w1", "w2", "w4", "w6")}


def races(path: Path, small: bool, until: float) -> pd.DataFrame:
    """Return rounds a second of everybody, and of fedpriv GFLOP/s and memory of the GPU; `until` a moment."""
    most, found = peak(small), {}
    for contender, dtype, label in RACED:
        for name, rounds in ROUNDS.items():
            known = name in TAKES_PART.get(contender, ROUNDS) and (contender == "ours" or name != "bnn")
            if not known or time.perf_counter() > until:
                continue
            try:
                record = asked_of(contender, dtype, WORKLOADS[name], path, 1 if small else rounds)
            except Failed as failed:
                print(f"left out: {label}, {name}: {failed}", flush=True)
                continue
            found[name, label] = record | {"speed": record["rounds"] / record["seconds"]}
            print(f"{name}, {label}: {found[name, label]['speed']:.3g} rounds/s", flush=True)
    lines = []
    for name, workload in ((name, WORKLOADS[name]) for name in ROUNDS):
        speeds = {label: found[name, label]["speed"] for *_, label in RACED if (name, label) in found}
        others = {label: one for label, one in speeds.items() if not label.startswith("fedpriv")}
        best = max(others, key=others.__getitem__, default="")
        ours = speeds.get("fedpriv", np.nan)
        done = np.nan
        if workload.model != "bnn":
            done = ours * workload.examples * work.flop_per_example(workload) / 1e9
        lines.append(
            {"work": f"{name}, {workload.cohort} of {workload.clients:,} clients"}
            | {label: speeds.get(label, np.nan) for *_, label in RACED}
            | {"fastest other": best, "ratio": ours / others[best] if best else np.nan}
            | {"GFLOP/s": done, f"% of {most:,.0f}": 100 * done / most}
            | {"peak MiB": found.get((name, "fedpriv"), {}).get("gpu_mib", np.nan)}
        )
    return pd.DataFrame(lines)


def asked_of(contender: str, dtype: str, workload: Workload, path: Path, rounds: int) -> dict[str, Any]:
    """Return what a contender says of a race in a process of its own."""
    with data_for(workload, path) as here:
        rounds = rounds if contender == "ours" else 1 + rounds // 3
        options = ("--data", here, "--rounds", rounds, "--dtype", dtype)
        found = ask(sys.executable, "contend.py", workload.name, contender, *options, minutes=3)
    if "left_out" in found:
        raise Failed(found["left_out"])
    return found


def machine() -> str:
    """Return what it ran on."""
    name = torch.cuda.get_device_name() if work.DEVICE.type == "cuda" else "CPU"
    return f"{name}, torch {torch.__version__}, CUDA {torch.version.cuda}, Python {sys.version.split()[0]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--resources", type=Path, default=Path("resources"))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/gpu.md"))
    parser.add_argument("--minutes", type=float, default=6)
    parser.add_argument("--small", action="store_true", help="one round each, to try this program on a CPU")
    asked = parser.parse_args()
    started = time.perf_counter()
    path = data.prepare_arrays("mnist", asked.resources, source.mirrors([]))
    with tempfile.TemporaryDirectory() as folder:
        tables = {
            "Every scheme, a few rounds on noise": schemes(Path(folder)),
            "The update of one client, relative L2 difference from float64": updates(path),
            "Rounds a second, and memory": races(path, asked.small, started + 60 * asked.minutes),
        }
    text = f"# On a GPU\n\n{machine()}, {time.perf_counter() - started:.0f} s in all.\n"
    for title, table in tables.items():
        text += f"\n## {title}\n\n{table.to_markdown(index=False, floatfmt='.3g')}\n"
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
