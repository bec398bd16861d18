"""Random small settings of every scheme, sampling law, denominator and hook, and their ledgers."""

from typing import ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd

from fedpriv.account import Deltas
from fedpriv.account.ledgers import ledger
from fedpriv.local.work import FedAvg, FedSGD
from fedpriv.mechanisms.gaussian import gaussian_mean
from fedpriv.mechanisms.sampling import CohortLaw, Fixed, Full, Poisson
from fedpriv.schemes import SCHEMES, ClientDP, Scheme
from fedpriv.schemes.exchange import Hooks
from fedpriv.trace import Mechanism
from support.one_number import trace_of

EXAMPLES, BATCH = 6, 3
SERVER = ("client_dp", "global_dp")
CLIENTS = ("instance", "joint", "split")
KINDS = (*SERVER, "joint", "joint topped up", "split", "split unclipped", "instance", "nbafl", "none")
KINDS += ("nbafl unequal", "falling", *(name for name in ("adaptive_dp",) if name in SCHEMES))


class Falling(ClientDP):
    """Somebody else's scheme: noise that is a tenth less in every round, and says so."""

    mechanism: ClassVar[Mechanism] = "gaussian"
    name: Literal["falling"] = "falling"

    def multiplier(self, round_number: int) -> float:
        return self.noise_multiplier * 0.9 ** (round_number - 1)

    def combine(self, bounded, context):
        noise = context.noise("noise")
        return gaussian_mean(bounded, self.multiplier(context.number), context.expected, noise)


class Setting(NamedTuple):
    kind: str
    scheme: Scheme
    hooks: Hooks
    law: CohortLaw
    population: int
    rounds: int
    holders: int
    steps: int
    delta: float
    largest: int = 0  # examples of the first client, where it has more than the others


def draw(number: int, rng: np.random.Generator) -> Setting:
    """Return a random setting, all kinds by turns; of few numbers, for accountants remember what they did."""
    kind = KINDS[number % len(KINDS)]
    name = kind.split()[0]
    bound, noise = float(rng.choice([0.5, 1.0, 2.0])), float(rng.choice([0.6, 1.1, 2.0, 3.5]))
    population, rounds = int(rng.integers(1, 9)), int(rng.integers(1, 3))
    if rng.random() < 0.1:
        population = 12
    rate, size = float(rng.choice([0.05, 0.3, 0.6, 0.9])), int(rng.integers(1, population + 1))
    law = (Poisson(rate=rate), Full(), Fixed(size=size))[rng.choice(3, p=[0.6, 0.2, 0.2])]
    largest = 0
    if name == "nbafl" and law.law == "poisson":
        law = Full()
    if kind == "nbafl unequal":  # of few of many, so that the first client often does not come
        population, rounds, largest = 6, 2, EXAMPLES * int(rng.choice([2, 10]))
        law = Fixed(size=int(rng.integers(1, 3)))
    if name == "falling" and law.law == "fixed":
        law = Full()
    delta = float(rng.choice([1e-1, 1e-2, 1e-5]))
    keys: dict[str, object] = {}
    holders = steps = 1
    if name in SERVER:
        denominator = str(rng.choice(["expected", "present"]))
        keys = {"clip_l2": bound, "noise_multiplier": noise, "denominator": denominator}
        if name == "global_dp":
            keys["clip"] = keys.pop("clip_l2")
            keys["budget"] = {"epsilon": 1e6, "delta": delta}
    elif name in CLIENTS:
        example = bool(rng.random() < 0.5)
        # Without clipping of examples the noise on a batch's mean is not a batch smaller.
        keys = {"clip_l2": bound, "noise_multiplier": noise * (BATCH if example else 1), "distances": 0}
        keys["per_example_clip"] = example
        if kind == "joint topped up":
            keys["top_up"] = float(rng.choice([0.0, 1e-6, 0.3 * delta, 0.9 * delta]))
        if name == "split":
            keys |= {"server_noise_multiplier": noise, "clip_uploads": kind == "split"}
        if name == "instance":
            population = int(rng.integers(1, 3))
            law = Full()
            rounds, steps, holders = [(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, population)][rng.integers(4)]
    elif name == "falling":
        keys = {"clip_l2": bound, "noise_multiplier": noise}
    elif name == "adaptive_dp":
        share = float(rng.choice([0.05, 0.5, 0.9]))
        keys = {"clip_l2": bound, "noise_multiplier": noise, "count_share": share}
    elif name == "nbafl":
        keys = {"epsilon": float(rng.choice([1.0, 3.0, 8.0])), "constant": 1.0}
        keys |= {"weight_clip": bound, "clip": "norm"}
    hooks: dict[str, object] = {}
    if rng.random() < 0.5 and kind != "split unclipped":  # what clipping makes of its noise is not Gaussian
        kinds, at = str(rng.choice(["norm", "element"])), float(rng.choice([0.1, 0.4, 1.5]) * bound)
        hooks["clip_upload"] = {"kind": kinds, "bound": at}
    if rng.random() < 0.5:
        hooks["upload_noise_std"] = float(rng.choice([0.3, 1.0, 3.0]) * bound)
    if rng.random() < 0.2:
        hooks["broadcast_noise_std"] = 1.0
    if kind in ("adaptive_dp", "falling"):  # what noise on uploads adds to theirs is not counted
        own = {"upload_noise_std": float(rng.choice([1e-3, 3.0]) * bound)}
        hooks = own if kind == "adaptive_dp" and rng.random() < 0.5 else {}
        law = Full() if hooks or law.law == "fixed" else law
    scheme = {**SCHEMES, "falling": Falling}[name].model_validate({"name": name} | keys)
    parts = scheme, Hooks.model_validate(hooks), law, population, rounds, holders, steps, delta, largest
    return Setting(kind, *parts)


def book(setting: Setting, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the setting's trace, of what its scheme's code does, and its ledger."""
    _, scheme, hooks, law, population, rounds, holders, steps, _, largest = setting
    local = FedAvg(batch_size=BATCH, steps=steps) if setting.kind == "instance" else FedSGD(batch_size=BATCH)
    held = {"examples": EXAMPLES, "holders": holders, "largest": largest}
    trace = trace_of(scheme, hooks, law, population, rounds, rng, local, **held)
    return trace, ledger(trace, Deltas(delta=setting.delta, instance_delta=setting.delta))
