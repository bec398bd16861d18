"""Traces that others wrote: plain ones in a CSV file, and those of what other frameworks say.

What the columns of a plain trace mean: docs/accounting-alone.md. Each function of a framework needs
nothing but the numbers that it is given, those about events `dp_accounting`. What the frameworks call
their settings is kept. One row stands for all releases that are alike. No default of a framework is taken for
granted: where a setting that an ε hangs on is not said, no row is a guarantee. Which these are, and what
happens to each: examples/other-frameworks/README.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd

from fedpriv.account.releases import Release
from fedpriv.errors import BadInput, short_repr

if TYPE_CHECKING:
    from dp_accounting import DpEvent


ALLOWED_FILE = "a CSV file with the columns of a plain trace (docs/accounting-alone.md)"


def read_plain_trace(path: Path) -> pd.DataFrame:
    """Return the plain trace in a CSV file; a missing or unreadable one is BadInput naming it."""
    try:
        return pd.read_csv(path)
    except FileNotFoundError:
        raise BadInput(f"{path}: found no such file, allowed: {ALLOWED_FILE}") from None
    except (OSError, ValueError) as error:  # pandas' own errors are of the second kind
        reason = str(error).partition("\n")[0]
        raise BadInput(f"{path}: found an unreadable file ({reason}), allowed: {ALLOWED_FILE}") from None


Protected = Literal["client", "instance"]
# A client moves a count that is centred, as adaptive clipping has it, by this.
HALF = 0.5
# Assumptions that nobody vouches for who does not say so.
NOT_POISSON = "nobody says that each client was drawn by itself"
WEIGHTS_SEEN = "the sum is divided by the weights of those who came"
CLIPPING_UNKNOWN = "how gradients were clipped is not known"
DRAWS_UNKNOWN = "how batches were drawn is not known"
PASSES_UNKNOWN = "whether an example comes once in each pass is not known"
BATCH_SEEN = "adaptive clipping divides by the size of a batch"
ADAPTIVE_UNKNOWN = "whether clipping is adaptive is not known"
NEXT_NORM = "the noise is of the clipping norm of the next round"
Clipping = Literal["flat", "per_layer", "adaptive"]
HISTORY = "accountant.history or accountant.state_dict(): rows of noise multiplier, sampling rate and steps"
OF_GAUSSIANS = "Gaussian noise, alone, composed, Poisson-sampled or sampled without replacement"


def from_opacus(
    history: Iterable[tuple[float, float, int]] | Mapping[str, Any],
    unit: Protected = "instance",
    *,
    clipping: Clipping | None = None,
    poisson_sampling: bool | None = None,
    once_a_pass: bool | None = None,
) -> pd.DataFrame:
    """Return the trace of `PrivacyEngine.accountant.history`: (noise multiplier, sampling rate, steps).

    Or of its `state_dict()`; numbers may be torch's. Opacus' own `rdp` is our `rdp`, its `prv` our `pld`,
    each of an example that is added or removed. The history does not say what `make_private` was told, so
    that whoever trained has to:

    - `clipping`. `flat`, with ghost clipping too, and `per_layer` have noise of the multiplier times the norm
      that bounds a gradient. `adaptive` divides a count by the size of the batch, which no noise hides, and
      earlier releases wrote another multiplier into the history: no row is a guarantee.
    - `poisson_sampling`. Without it a loader deals batches in whole passes over the data, and no sampling
      makes an ε smaller. It is a guarantee where an example comes once in each pass (`once_a_pass`), as it
      does with `shuffle`, and not with a sampler that replaces or weighs.
    """
    releases = pd.DataFrame(_history(history), columns=["noise_multiplier", "sampling_rate", "releases"])
    if clipping not in (*get_args(Clipping), None):
        found = f"clipping: found {short_repr(clipping)}"
        raise BadInput(f"{found}, allowed: {', '.join(get_args(Clipping))}, None: not known")
    passes = "" if poisson_sampling or once_a_pass else PASSES_UNKNOWN
    draws = DRAWS_UNKNOWN if poisson_sampling is None else passes
    clipped = {None: CLIPPING_UNKNOWN, "adaptive": BATCH_SEEN}.get(clipping, "")
    releases = releases.assign(unit=unit, violation=clipped or draws)
    if poisson_sampling is not False or releases.empty:
        return releases.assign(sampling_law="poisson")
    steps = releases.loc[releases.index.repeat(releases["releases"])].reset_index(drop=True)
    batches = round(1 / releases["sampling_rate"].max())  # of a pass
    if not np.allclose(releases["sampling_rate"] * batches, 1, rtol=0, atol=1e-9):
        rates = ", ".join(f"{rate:g}" for rate in releases["sampling_rate"].unique())
        raise BadInput(
            f"history: found sampling rates {rates}, allowed with poisson_sampling False: one, that of a "
            "whole number of batches in a pass"
        )
    # An example is in the turn of one batch: in the last of a pass, perhaps, and the first of the next.
    turns = {"population": batches, "cohort_size": 1, "participations": -(-len(steps) // batches)}
    kept = steps[["noise_multiplier", "unit", "violation"]]
    return kept.assign(sampling_law="spaced", **turns, rounds_apart=1)


def _history(history: Any) -> list[tuple[float, float, int]]:
    """Return the rows of a history as numbers of Python; BadInput names what is none."""
    rows = history.get("history") if isinstance(history, Mapping) else history
    found, read = rows, []
    try:
        for found in rows or []:
            noise, rate, steps = map(float, found)
            read.append((noise, rate, int(steps) if steps.is_integer() else steps))
    except (TypeError, ValueError):  # also of a tensor of several numbers
        raise BadInput(f"history: found {short_repr(found)}, allowed: {HISTORY}") from None
    if rows is None:
        raise BadInput(f"history: found {short_repr(history)}, allowed: {HISTORY}")
    return read


def from_tff(
    *,
    noise_multiplier: float,
    clients_per_round: float,
    population: int,
    rounds: int,
    adaptive: bool = True,
    clipped_count_stddev: float | None = None,
    zeroing: bool = True,
    poisson_sampling: bool = False,
) -> pd.DataFrame:
    """Return the trace of TensorFlow Federated's `DifferentiallyPrivateFactory`, as if by Poisson sampling.

    `gaussian_adaptive` (and `tff.learning.dp_aggregator`) is `adaptive`, `gaussian_fixed` is not. The sum has
    noise of `noise_multiplier` times the clip, and is divided by `clients_per_round`, a public number. Two
    things are no guarantee but where it is said otherwise: `dp_aggregator` has `zeroing`, by a quantile of
    the norms without noise, which a factory by itself has not; and who comes is drawn by whoever calls, by
    `build_uniform_sampling_fn` a fixed number and not each client by itself (`poisson_sampling`).
    """
    noise = _adaptive(noise_multiplier, clients_per_round, clipped_count_stddev, adaptive)
    facts = {"sampling_law": "poisson", "sampling_rate": clients_per_round / population, "releases": rounds}
    violation = (
        "the norm of zeroing is a private statistic" if zeroing else "" if poisson_sampling else NOT_POISSON
    )
    return pd.DataFrame([{"unit": "client", **facts, **noise, "violation": violation}])


def from_flower(
    *,
    noise_multiplier: float,
    num_sampled_clients: int,
    population: int,
    rounds: int,
    largest_share: float | None = None,
    fewest_replies: int | None = None,
    adaptive: bool | None = None,
    clipped_count_stddev: float | None = None,
) -> pd.DataFrame:
    """Return the trace of Flower's `DifferentialPrivacy{Server,Client}Side{Fixed,Adaptive}Clipping`.

    The server draws `num_sampled_clients` of all that are connected, without replacement. It means what they
    send by their numbers of examples, and adds noise of `noise_multiplier` times the clip over
    `num_sampled_clients`, however many replied. So what a client moves is its share of the mean:
    `largest_share` is the most that one client can have of the examples of `num_sampled_clients`, with equal
    weights 1 over these, and `fewest_replies` how many were in a mean at least. Those that do not reply have
    that share each at most. Where either is not said nothing is known to bound what a client moves, and there
    is no ε. Where clipping is adaptive no row is a guarantee, for the noise is of the next round's clip; nor
    where it is not said whether it is.
    """
    noise = _adaptive(noise_multiplier, num_sampled_clients, clipped_count_stddev, bool(adaptive))
    violation = ADAPTIVE_UNKNOWN if adaptive is None else NEXT_NORM if adaptive else ""
    if largest_share is None or fewest_replies is None:
        noise, violation = {"noise_multiplier": 0.0}, "a client's share of a mean is not known"
    else:
        noise["noise_multiplier"] /= _moved(num_sampled_clients, largest_share, fewest_replies)
    facts = {"sampling_law": "fixed", "population": population, "cohort_size": num_sampled_clients}
    return pd.DataFrame([{"unit": "client", **facts, **noise, "releases": rounds, "violation": violation}])


def _moved(sampled: int, share: float, fewest: int) -> float:
    """Largest move of a mean by one client, over that of a mean of `sampled` of equal weights.

    `share` is the largest of all who are sampled, of whom `fewest` reply. A client that is replaced by one
    with more weight moves it by no more than twice that.
    """
    if not 1 / sampled * (1 - 1e-9) <= share <= 1:
        raise BadInput(f"largest_share: found {share:g}, allowed: {1 / sampled:g} (equal weights) to 1")
    if not 1 <= fewest <= sampled:
        raise BadInput(f"fewest_replies: found {fewest:g}, allowed: 1 to {sampled}, num_sampled_clients")
    left = 1 - (sampled - fewest) * share  # of all weights, at least
    return sampled * (min(1.0, share / left) if left > 0 else 1.0)


def from_pfl(
    *,
    noise_parameter: float,
    sampling_probability: float,
    num_compositions: int,
    noise_scale: float = 1.0,
    poisson_sampling: bool = False,
    public_denominator: bool = False,
) -> pd.DataFrame:
    """Return the trace of a `PrivacyAccountant` of pfl-research with mechanism `gaussian`.

    With adaptive clipping it is the same: the update and the bit beside it are one vector, bounded together.
    Where `noise_scale` is below 1 a smaller cohort than the one that is accounted for trained, with so much
    less noise: the trace is of what was released, and not of the larger cohort that pfl's ε is about. A
    cohort of pfl's has a fixed size, and `FederatedAveraging` divides by the sum of the weights of those who
    came. So no row is a guarantee but where each user is drawn by itself (`poisson_sampling`) and the sum is
    divided by a number that does not depend on who came (`public_denominator`).
    """
    if not 0 < noise_scale <= 1:
        raise BadInput(f"noise_scale: found {noise_scale:g}, allowed: above 0 and at most 1")
    facts = {"sampling_law": "poisson", "sampling_rate": sampling_probability * noise_scale}
    noise = {"noise_multiplier": noise_parameter * noise_scale, "releases": num_compositions}
    violation = NOT_POISSON if not poisson_sampling else "" if public_denominator else WEIGHTS_SEEN
    return pd.DataFrame([{"unit": "client", **facts, **noise, "violation": violation}])


def _adaptive(total: float, clients: float, count_std: float | None, adaptive: bool) -> dict[str, float]:
    """Return the noise of an adaptive clip: that of the sum is larger, so that both together are `total`.

    The std of the noise on the count is a twentieth of the clients unless it is said. Andrew et al. 2021,
    "Differentially private learning with adaptive clipping", theorem 1.
    """
    if not total >= 0:
        raise BadInput(f"noise_multiplier: found {total:g}, allowed: at least 0")
    if not adaptive or total == 0:
        return {"noise_multiplier": total}
    of_count = (clients / 20 if count_std is None else count_std) / HALF
    if not of_count > total:
        raise BadInput(
            f"clipped_count_stddev: found {of_count * HALF:g}, allowed: above {total * HALF:g}, half of the "
            "noise multiplier"
        )
    return {
        "noise_multiplier": (total**-2 - of_count**-2) ** -0.5,
        "count_noise_multiplier": of_count,
    }


def from_dp_event(event: DpEvent, unit: Protected = "client") -> pd.DataFrame:
    """Return the trace of an event of dp-accounting; one that is not made of Gaussians is BadInput.

    Such events are also what jax_privacy's accounting makes. The multiplier of a sample without replacement
    is over what a unit that is replaced moves, 2C: in the trace, over C, it is twice as large. An event does
    not say whose it is: `unit` does.
    """
    parts = list(_releases(event, 1))
    laws = {part.law for part, _ in parts}
    if "fixed" in laws and len(laws) > 1:
        raise BadInput(
            f"event: found cohorts of {' and '.join(sorted(laws))}, allowed: without replacement alone"
        )
    law = laws.pop() if len(laws) == 1 else "poisson"  # who is always there comes with probability 1
    rows = [
        {
            "unit": unit,
            "sampling_rate": part.sampling_rate,
            "population": part.population,
            "cohort_size": part.sample,
            "noise_multiplier": part.noise_multiplier,
            "sampling_law": law,
            "releases": count,
        }
        for part, count in parts
    ]
    if not rows:
        raise BadInput(f"event: found {short_repr(event)}, which releases nothing, allowed: {OF_GAUSSIANS}")
    others = [] if law == "fixed" else ["population", "cohort_size"]
    return pd.DataFrame(rows).drop(columns=others)


def _releases(event: Any, times: int) -> Iterator[tuple[Release, int]]:
    """Yield what an event releases, and how often."""
    import dp_accounting as dp

    if isinstance(event, dp.NoOpDpEvent):
        return
    if isinstance(event, dp.ComposedDpEvent):
        for part in event.events:
            yield from _releases(part, times)
    elif isinstance(event, dp.SelfComposedDpEvent):
        yield from _releases(event.event, times * event.count)
    elif isinstance(event, dp.PoissonSampledDpEvent):
        yield Release("poisson", 0, 0, event.sampling_probability, _multiplier(event.event)), times
    elif isinstance(event, dp.SampledWithoutReplacementDpEvent):
        all_, some = event.source_dataset_size, event.sample_size
        yield Release("fixed", all_, some, some / all_, 2 * _multiplier(event.event)), times
    else:
        yield Release("full", 0, 0, 1.0, _multiplier(event)), times


def _multiplier(event: Any) -> float:
    """Return the multiplier of the one Gaussian that Gaussians of the same sample are together."""
    import dp_accounting as dp

    if isinstance(event, dp.GaussianDpEvent):
        return float(event.noise_multiplier)
    if isinstance(event, dp.NonPrivateDpEvent):
        return 0.0
    if isinstance(event, dp.ComposedDpEvent):
        each = [_multiplier(part) for part in event.events]
        return 0.0 if 0 in each or not each else math.hypot(*(1 / noise for noise in each)) ** -1
    if isinstance(event, dp.SelfComposedDpEvent):
        return _multiplier(event.event) / math.sqrt(event.count)
    raise BadInput(f"event: found {type(event).__name__}, allowed: {OF_GAUSSIANS}")
