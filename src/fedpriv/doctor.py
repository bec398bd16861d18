"""What stops a first run on this machine, and how long presets train.

    fedpriv doctor                               Python, torch and the GPU it sees, disk space, Kaggle's token
    fedpriv doctor --time config/laptop.yaml     hours of a preset by paper, with and without stored runs

Nothing is measured, written or downloaded. Times are those of the stored runs.
"""

import os
import platform
import shutil
from collections.abc import Callable, Collection
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from fedpriv.config.plan import Plan, load_preset
from fedpriv.config.sizes import INDEX, Sizes, read_times
from fedpriv.data.source import CREDENTIALS, is_url, mirrors
from fedpriv.progress import duration
from fedpriv.store.files import existing_folder
from fedpriv.store.machine import cores
from fedpriv.store.machine import engines as machine_engines

KeptOf = Callable[[Plan], Collection[str]]  # the identities of what is stored of a preset
DRIVER = Path("/proc/driver/nvidia/version")
# GB of data and results together, while it runs: of the demo measured, of the preset paper estimated from the
# size of its models and data. The photographs of APTOS 2019 from Kaggle come on top.
DEMO, PAPER = 0.1, 6.0
PHOTOGRAPHS = 20.0  # GB that kagglehub takes while it unpacks APTOS 2019


class Check(NamedTuple):
    """What was looked at, how it stands, and in words: what is there, or what to do.

    `ok` works, or is not needed; `to do` works once somebody did what the text says; nothing at all works
    without what is `missing`.
    """

    name: str
    state: Literal["ok", "to do", "missing"]
    text: str


def diagnose(resources: Path, timed: Path | None = None, kept: KeptOf = lambda _: ()) -> list[Check]:
    """Check all that a first run depends on; `resources` is where data lie.

    `timed` is a preset: a check has how long it trains, with and without the runs that `kept` names.
    """
    plan = load_preset(timed) if timed else None  # first: what is not there is a mistake at once
    checks = [
        Check("python", "ok", f"{platform.python_version()}, {cores()} cores"),
        torch(),
        engines(),
        disk(resources, Path("results")),
        kaggle(resources),
    ]
    return checks + ([time_of(Sizes(plan, read_times(INDEX)), kept(plan))] if plan else [])


def torch() -> Check:
    """Name torch's version and the GPUs that it sees; a GPU that it cannot use is something to do."""
    if find_spec("torch") is None:
        text = "not installed; pip install -c constraints.txt -e '.[train]' brings it"
        return Check("torch", "missing", text)
    import torch

    if torch.cuda.is_available():
        seen = [torch.cuda.get_device_properties(number) for number in range(torch.cuda.device_count())]
        devices = ", ".join(f"{gpu.name} ({gpu.total_memory / 2**30:.0f} GiB)" for gpu in seen)
        return Check("torch", "ok", f"{torch.__version__}, {devices}")
    text = f"{torch.__version__}, runs on the CPU"
    if not DRIVER.exists():
        return Check("torch", "ok", f"{text}: no GPU here")
    why = (
        f"its GPU cannot be used with CUDA {torch.version.cuda}; see whether nvidia-smi lists it and "
        "CUDA_VISIBLE_DEVICES allows it, or install what https://pytorch.org/get-started names for it"
    )
    return Check("torch", "to do", f"{text}: an NVIDIA driver is here, but {why}")


def engines() -> Check:
    """Say whether small networks are trained in C, and why not."""
    package = machine_engines()
    why = package.why_not() if package else ["the package fedpriv-engines is not installed"]
    if not why:
        return Check("compiled code", "ok", "available")
    return Check("compiled code", "to do", f"{', '.join(why)}; torch does its work, slower")


def free_bytes(folder: Path) -> float:
    """Return the free space, GB, where `folder` is or would be made."""
    return shutil.disk_usage(existing_folder(folder)).free / 1e9


def disk(resources: Path, results: Path) -> Check:
    """Say whether there is room where data and results are written."""
    folders = resources, results
    if locked := [str(path) for path in folders if not os.access(existing_folder(path), os.W_OK)]:
        return Check("disk", "missing", f"{', '.join(locked)} cannot be written; take a folder of your own")
    least = min(map(free_bytes, folders))
    text = f"{least:,.1f} GB free"
    if least < DEMO:
        return Check("disk", "missing", f"{text}; make room: even the demo takes {DEMO} GB")
    if least < PAPER:
        return Check("disk", "to do", f"{text}; the preset paper takes {PAPER} GB")
    return Check("disk", "ok", f"{text}: enough for every preset")


def kaggle(resources: Path) -> Check:
    """Say whether APTOS 2019 is here, or could be downloaded; what a credential is, is never shown."""
    tables = [Path(mirror).expanduser() / "aptos/train.csv" for mirror in mirrors() if not is_url(mirror)]
    if any(path.is_file() for path in (resources / "aptos/images.json", *tables)):
        return Check("kaggle", "ok", "not needed: aptos is here")
    if not has_credentials():
        return Check("kaggle", "to do", f"no credentials, only aptos needs them; {CREDENTIALS}")
    cache = Path(os.environ.get("KAGGLEHUB_CACHE") or Path.home() / ".cache/kagglehub")
    if (room := free_bytes(cache)) < PHOTOGRAPHS:
        text = f"{room:,.1f} GB free for {cache}, aptos takes {PHOTOGRAPHS:g} while it is unpacked"
        return Check("kaggle", "to do", f"{text}: make room, or set KAGGLEHUB_CACHE")
    return Check("kaggle", "ok", "credentials are here; accept the competition's rules once, in a browser")


def has_credentials() -> bool:
    """Return True where kagglehub has a token or a key to read; neither is read here."""
    if "KAGGLE_API_TOKEN" in os.environ or {"KAGGLE_USERNAME", "KAGGLE_KEY"} <= set(os.environ):
        return True
    home = Path.home() / ".kaggle"
    config = Path(os.environ.get("KAGGLE_CONFIG_DIR") or home) / "kaggle.json"
    return any(path.exists() for path in (home / "access_token", home / "access_token.txt", config))


def time_of(sizes: Sizes, kept: Collection[str]) -> Check:
    """Say how long one preset trains, by paper, where a GPU would pay, and without what is kept of it."""
    plan, spent, seen = sizes.plan, dict[str, float](), set[str]()
    pays, left, unknown = 0.0, 0.0, 0
    for paper, runs in plan.runs.items():
        for name in runs:
            seeds = set(plan.identities(paper, name).values()) - seen
            seconds = sizes.seconds(paper, name) * sizes.threads
            spent[paper] = spent.get(paper, 0.0) + len(seeds) * seconds
            pays += len(seeds) * seconds * sizes.wants_gpu(paper, name)
            left += len(seeds.difference(kept)) * seconds
            unknown += len(seeds) * (sizes.known(paper, name) is None)
            seen |= seeds
    total, number = sum(spent.values()), cores()
    papers = ", ".join(f"{paper} {duration(took)}" for paper, took in spent.items())
    parts = [
        f"{duration(total)} of one core, {duration(total / number)} on these {number}: {len(seen)} trainings"
        + f" ({papers})" * (len(spent) > 1)
    ]
    if pays:
        parts.append(f"{duration(pays)} of it ask for a GPU")
    if unknown:
        parts.append(f"{unknown} are guessed, of networks that nobody has stored")
    if taken := len(seen.intersection(kept)):
        parts.append(f"{duration(left)} of one core without the {taken} that are stored")
    return Check(f"time {plan.preset.preset}", "ok", "; ".join(parts))
