"""Traces of rounds in which clients send one number: the facts are those of the schemes' own code."""

import numpy as np
import pandas as pd
import torch

from fedpriv.mechanisms.sampling import CohortLaw
from fedpriv.schemes.base import RoundContext, Scheme
from fedpriv.schemes.exchange import Hooks, exchange
from fedpriv.streams import Streams
from fedpriv.trace import NO_FACTS, TRACE

UNUSED = {name: float("nan") for name, dtype in TRACE.items() if dtype == "float64" and name not in NO_FACTS}


def trace_of(
    scheme: Scheme,
    hooks: Hooks,
    law: CohortLaw,
    population: int,
    rounds: int,
    rng: np.random.Generator,
    local: object = None,
    examples: int = 6,
    holders: int = 1,
    largest: int = 0,
) -> pd.DataFrame:
    """Return the trace of `rounds` rounds of a federation whose clients have `examples` examples each.

    The first client has `largest`, if that is more. In which rounds it came is in the trace's attributes.
    """
    rows = []
    gradient = scheme.gradient(local)
    expected = law.expected(population)
    sizes = np.full(population, examples)
    sizes[0] = max(examples, largest)
    memory, came = scheme.memory(1), []
    for number in range(1, rounds + 1):
        ids = law.draw(population, rng)
        size, came = len(ids), [*came, 0 in ids]
        seen = {"law": law, "gradient_noise_std": gradient.noise_std if gradient else 0.0}
        seen |= {"memory": memory, "most": int(sizes.max())}
        streams = Streams(0, "one number")
        context = RoundContext(
            number, rounds, population, expected, sizes[ids], examples, (1,), streams, **seen
        )
        sent = torch.from_numpy(rng.choice([-1.0, 1.0], (size, 1)))
        uploads = hooks.before_upload(sent)
        clean = sent if gradient else uploads
        _, _, memory, facts = exchange(scheme, hooks, clean, uploads, context, gradient is not None)
        said = {"round": number, "scheme": scheme.name, "mechanism": scheme.mechanism, "unit": scheme.unit}
        said |= {"relation": scheme.relation, "sampling_law": law.law, "population": population}
        said |= {"expected_cohort": expected, "sampling_rate": expected / population, "cohort_size": size}
        said |= {"holders": holders, "clear_values": 0}
        work = gradient.facts(local.noisy_steps, sizes) if gradient else {}
        rows.append(UNUSED | NO_FACTS | work | facts | said)
    trace = pd.DataFrame(rows, columns=pd.Index(TRACE)).astype(TRACE)
    trace.attrs["came"] = came
    return trace
