from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest

from fedpriv.trace import MISSING


@pytest.fixture(scope="session")
def make_trace() -> Callable[..., pd.DataFrame]:
    """Return a builder of traces: the columns that accountants read, equal in every round."""

    def build(
        rounds: int = 30,
        rate: float = 0.1,
        multiplier: float = 2.0,
        *,
        law: str = "poisson",
        clip: float = 1.0,
        population: int = 1000,
    ) -> pd.DataFrame:
        said = {
            "round": np.arange(1, rounds + 1),
            "mechanism": "gaussian",
            "unit": "client",
            "relation": "add_remove",
            "sampling_law": law,
            "population": population,
            "expected_cohort": rate * population,
            "sampling_rate": rate,
            "cohort_size": round(rate * population),
            "clip_l2": clip,
            "clip_private": False,
            "holders": 1,
            "noise_multiplier": multiplier,
            "noise_std": multiplier * clip if multiplier else 0.0,
            "releases": 1,
            "repeated_rows": False,
        }
        return pd.DataFrame(MISSING | said)

    return build


@pytest.fixture(scope="session")
def make_instances(make_trace) -> Callable[..., pd.DataFrame]:
    """Return a builder of traces with noise on clients, each of which holds 600 examples."""

    def build(
        rounds: int = 30,
        clients: int = 10,
        multiplier: float = 2.0,
        *,
        batch: int = 60,
        steps: int = 1,
        unit: str = "instance",
        joint: bool = False,
        per_example: bool = True,
        clip: float = 1.0,
        cohorts: Sequence[int] | None = None,
        server_multiplier: float = 0.0,
    ) -> pd.DataFrame:
        size = np.full(rounds, clients) if cohorts is None else np.array(cohorts)
        law = "full" if cohorts is None else "poisson"
        rate = 1.0 if cohorts is None else 0.5
        bound = clip / batch if per_example else clip
        trace = make_trace(rounds, rate, server_multiplier, law=law, clip=clip, population=clients)
        return trace.assign(
            unit="both" if joint else unit,
            cohort_size=size,
            local_steps=steps,
            rate_sequential=batch / (600 * clients),
            rate_parallel=batch / 600,
            per_example_clip=per_example,
            instance_clip_l2=bound,
            instance_noise_multiplier=multiplier,
            instance_noise_std=multiplier * bound,
            noise_shares=np.maximum(size - 1, 1) if joint else 0,
            noise_in_sum=joint,
        )

    return build
