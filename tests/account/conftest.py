from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest


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
        return pd.DataFrame(
            {
                "round": np.arange(1, rounds + 1),
                "unit": "client",
                "relation": "add_remove",
                "sampling_law": law,
                "population": population,
                "expected_cohort": rate * population,
                "sampling_rate": rate,
                "cohort_size": round(rate * population),
                "clip_l2": clip,
                "clip_private": False,
                "noise_multiplier": multiplier,
                "noise_std": multiplier * clip if multiplier else 0.0,
            }
        )

    return build
