"""Plain traces of what other frameworks say of their trainings, and DP events of traces.

Each function needs nothing but the numbers that it is given, those about events `dp_accounting`. What the
frameworks call their settings is kept. One row stands for all releases that are alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pandas as pd

from fedpriv.account.complete import complete
from fedpriv.account.events import Mechanism
from fedpriv.account.trace_check import check_trace
from fedpriv.account.views import views
from fedpriv.errors import BadInput, short_repr

if TYPE_CHECKING:
    from dp_accounting import DpEvent

Unit = Literal["client", "instance"]
# A client moves a count that is centred, as adaptive clipping has it, by this.
HALF = 0.5
OF_GAUSSIANS = "Gaussian noise, alone, composed, Poisson-sampled or sampled without replacement"


def from_opacus(history: Iterable[tuple[float, float, int]], unit: Unit = "instance") -> pd.DataFrame:
    """Return the trace of `PrivacyEngine.accountant.history`: (noise multiplier, sampling rate, steps).

    Opacus' own `rdp` is our `rdp`, its `prv` our `pld`, each of an example that is added or removed.
    """
    return pd.DataFrame(
        [
            {
                "unit": unit,
                "sampling_law": "poisson",
                "sampling_rate": rate,
                "noise_multiplier": noise,
                "releases": steps,
            }
            for noise, rate, steps in history
        ]
    )


def from_tff(
    *,
    noise_multiplier: float,
    clients_per_round: float,
    population: int,
    rounds: int,
    adaptive: bool = True,
    clipped_count_stddev: float | None = None,
) -> pd.DataFrame:
    """Return the trace of TensorFlow Federated's `DifferentiallyPrivateFactory`, with Poisson sampling.

    `gaussian_adaptive` (and `tff.learning.dp_aggregator`) is `adaptive`, `gaussian_fixed` is not. The sum has
    noise of `noise_multiplier` times the clip, and is divided by `clients_per_round`, a public number.
    """
    noise = _adaptive(noise_multiplier, clients_per_round, clipped_count_stddev, adaptive)
    facts = {"sampling_law": "poisson", "sampling_rate": clients_per_round / population}
    return pd.DataFrame([{"unit": "client", **facts, **noise, "releases": rounds}])


def from_flower(
    *,
    noise_multiplier: float,
    num_sampled_clients: int,
    population: int,
    rounds: int,
    adaptive: bool = False,
    clipped_count_stddev: float | None = None,
) -> pd.DataFrame:
    """Return the trace of Flower's `DifferentialPrivacy{Server,Client}Side{Fixed,Adaptive}Clipping`.

    The server draws `num_sampled_clients` of all that are connected, without replacement.
    """
    noise = _adaptive(noise_multiplier, num_sampled_clients, clipped_count_stddev, adaptive)
    facts = {"sampling_law": "fixed", "population": population, "cohort_size": num_sampled_clients}
    return pd.DataFrame([{"unit": "client", **facts, **noise, "releases": rounds}])


def from_pfl(
    *, noise_parameter: float, sampling_probability: float, num_compositions: int, noise_scale: float = 1.0
) -> pd.DataFrame:
    """Return the trace of a `PrivacyAccountant` of pfl-research with mechanism `gaussian`.

    Where `noise_scale` is below 1 a smaller cohort than the one that is accounted for trained, with so much
    less noise: the trace is of what was released, and not of the larger cohort that pfl's ε is about.
    """
    facts = {"sampling_law": "poisson", "sampling_rate": sampling_probability * noise_scale}
    noise = {"noise_multiplier": noise_parameter * noise_scale, "releases": num_compositions}
    return pd.DataFrame([{"unit": "client", **facts, **noise}])


def _adaptive(total: float, clients: float, count_std: float | None, adaptive: bool) -> dict[str, float]:
    """Return the noise of an adaptive clip: that of the sum is larger, so that both together are `total`.

    The std of the noise on the count is a twentieth of the clients unless it is said. Andrew et al. 2021,
    "Differentially private learning with adaptive clipping", theorem 1.
    """
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


class _Release(NamedTuple):
    law: str
    sampling_rate: float
    population: int
    cohort_size: int
    noise_multiplier: float


def from_dp_event(event: DpEvent, unit: Unit = "client") -> pd.DataFrame:
    """Return the trace of an event of dp-accounting; one that is not made of Gaussians is BadInput.

    The multiplier of a sample without replacement is over what a unit that is replaced moves, 2C: in the
    trace, over C, it is twice as large. An event does not say whose it is: `unit` does.
    """
    found = list(_releases(event, 1))
    laws = {one.law for one, _ in found}
    if "fixed" in laws and len(laws) > 1:
        raise BadInput(
            f"event: found cohorts of {' and '.join(sorted(laws))}, allowed: without replacement alone"
        )
    law = laws.pop() if len(laws) == 1 else "poisson"  # who is always there comes with probability 1
    rows = [{"unit": unit, **one._asdict(), "sampling_law": law, "releases": count} for one, count in found]
    if not rows:
        raise BadInput(f"event: found {short_repr(event)}, which releases nothing, allowed: {OF_GAUSSIANS}")
    others = [] if law == "fixed" else ["population", "cohort_size"]
    return pd.DataFrame(rows).drop(columns=["law", *others])


def _releases(event: Any, times: int) -> Iterator[tuple[_Release, int]]:
    """Yield what an event releases, and how often."""
    import dp_accounting as dp

    if isinstance(event, dp.NoOpDpEvent):
        return
    if isinstance(event, dp.ComposedDpEvent):
        for one in event.events:
            yield from _releases(one, times)
    elif isinstance(event, dp.SelfComposedDpEvent):
        yield from _releases(event.event, times * event.count)
    elif isinstance(event, dp.PoissonSampledDpEvent):
        yield _Release("poisson", event.sampling_probability, 0, 0, _multiplier(event.event)), times
    elif isinstance(event, dp.SampledWithoutReplacementDpEvent):
        all_, some = event.source_dataset_size, event.sample_size
        yield _Release("fixed", some / all_, all_, some, 2 * _multiplier(event.event)), times
    else:
        yield _Release("full", 1.0, 0, 0, _multiplier(event)), times


def _multiplier(event: Any) -> float:
    """Return the multiplier of the one Gaussian that Gaussians of the same sample are together."""
    import dp_accounting as dp

    if isinstance(event, dp.GaussianDpEvent):
        return float(event.noise_multiplier)
    if isinstance(event, dp.NonPrivateDpEvent):
        return 0.0
    if isinstance(event, dp.ComposedDpEvent):
        each = [_multiplier(one) for one in event.events]
        return 0.0 if 0 in each or not each else math.hypot(*(1 / one for one in each)) ** -1
    if isinstance(event, dp.SelfComposedDpEvent):
        return _multiplier(event.event) / math.sqrt(event.count)
    raise BadInput(f"event: found {type(event).__name__}, allowed: {OF_GAUSSIANS}")


def to_dp_event(trace: pd.DataFrame) -> DpEvent:
    """Return the event of dp-accounting that a trace is: of a sum with the noise of whoever adds it.

    Its `RdpAccountant` and, of Poisson samples, its `PLDAccountant` count it as ours do: of units added or
    removed; of cohorts of fixed size, with `NeighboringRelation.REPLACE_ONE`. Anything else is BadInput.
    """
    import dp_accounting as dp

    trace = complete(trace)
    check_trace(trace)
    (view, *others) = views(trace, {})
    if others or view.accounting or view.mechanism != "gaussian":
        raise BadInput(
            "trace: found noise of clients, local steps, a divided mean or another mechanism, allowed: "
            "Gaussian noise on sums over a public denominator"
        )
    events: list[DpEvent] = [
        dp.SelfComposedDpEvent(_event(one), count)
        for one, count in zip(view.mechanisms, view.counts.sum(axis=0).tolist(), strict=True)
    ]
    return events[0] if len(events) == 1 else dp.ComposedDpEvent(events)


def _event(one: Mechanism) -> DpEvent:
    import dp_accounting as dp

    if one.noise_multiplier == 0:
        return dp.NonPrivateDpEvent()
    if one.law == "fixed":
        halved = dp.GaussianDpEvent(one.noise_multiplier / 2)
        return dp.SampledWithoutReplacementDpEvent(one.population, one.sample, halved)
    noise = dp.GaussianDpEvent(one.noise_multiplier)
    return noise if one.sampling_rate == 1 else dp.PoissonSampledDpEvent(one.sampling_rate, noise)
