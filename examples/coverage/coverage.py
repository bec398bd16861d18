"""How often the Bayesian accountant's upper bounds lie above the truth: a study where the truth is known.

    python examples/coverage/coverage.py

takes some minutes and writes results/coverage/coverage.csv and .md, with the settings beside this file.

Distances are drawn as |N(0, spread)| clipped at 1, so expectations over clients can be integrated. The first
study asks for one round's cost at one λ, the second for the ε of whole runs with fresh clients every round.
The Student-t bound promises coverage 1 − failure for Gaussian samples; exponentials of squared distances are
nothing of the kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import log_ndtr, roots_legendre

from fedpriv.account.bayesian import log_upper_bound, round_costs
from fedpriv.account.moments import LAMBDAS, best, log_moment
from fedpriv.paper.paper import read_yaml

# Gauss-Legendre nodes on [0, 1]: the integrands are smooth, the steepest grow like exp(5000 d²).
NODES = 2000


class Population(NamedTuple):
    """The clients of the study: distances |N(0, spread)| clipped at 1, the clipping norm."""

    spread: float

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Return independent distances."""
        return np.minimum(1.0, np.abs(rng.normal(0.0, self.spread, shape)))

    def log_mean(
        self, sampling_rate: float, noise_multiplier: float, lambdas: Any, exponent: int
    ) -> np.ndarray:
        """Return the true cost (1/exponent) log E exp(exponent · λ D) of a round, `[Λ]`, by quadrature."""
        nodes, weights = roots_legendre(NODES)
        distances = np.append((nodes + 1) / 2, 1.0)  # and the clients at the clipping norm, an atom
        scaled = distances / self.spread
        log_density = 0.5 * np.log(2 / np.pi) - np.log(self.spread) - scaled[:-1] ** 2 / 2
        log_atom = np.log(2) + log_ndtr(-scaled[-1])
        log_probability = np.append(np.log(weights / 2) + log_density, log_atom)
        moments = exponent * log_moment(sampling_rate, noise_multiplier / distances, lambdas)
        return np.logaddexp.reduce(moments + log_probability[:, None], axis=0) / exponent


def study(settings: dict[str, Any], rng: np.random.Generator) -> pd.DataFrame:
    """Return one row for each bound and way of sampling: the truth and the share of estimates at or above it.

    `settings` has the keys of settings.yaml; `seed` is not used here. Columns: study (cost, epsilon),
    sampling_rate, noise_multiplier, lambda, rounds, delta, composition, samples, failure (the probability the
    bound is built for), replicates, truth, worst (at the clipping norm: what DP pays), median, coverage.
    """
    population = Population(settings["spread"])
    rows = [*_costs(settings["cost"], population, rng), *_epsilons(settings["epsilon"], population, rng)]
    return pd.DataFrame(rows)


def _costs(
    settings: dict[str, Any], population: Population, rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Yield the coverage of the upper bound on one round's cost at one λ."""
    replicates = settings["replicates"]
    for case in settings["cases"]:
        rate, multiplier, lambdas = case["sampling_rate"], case["noise_multiplier"], [case["lambda"]]
        truth = population.log_mean(rate, multiplier, lambdas, exponent=1)[0]
        worst = log_moment(rate, multiplier, lambdas)[0]
        for samples in settings["samples"]:
            distances = population.draw((replicates, samples), rng)
            moments = log_moment(rate, multiplier / distances, lambdas)
            for failure in settings["failure"]:
                estimates = log_upper_bound(moments, failure)[:, 0]
                yield {"study": "cost", **case, "samples": samples} | _outcome(
                    estimates, truth, worst, failure
                )


def _epsilons(
    settings: dict[str, Any], population: Population, rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Yield the coverage of whole runs' ε, under product and under Hölder composition."""
    for case in settings["cases"]:
        rate, multiplier = case["sampling_rate"], case["noise_multiplier"]
        rounds, delta = case["rounds"], case["delta"]
        labels = {name: value for name, value in case.items() if name != "samples"}
        exponents = {"product": 1, "hoelder": rounds}
        worst = rounds * log_moment(rate, multiplier)
        for samples in case["samples"]:
            ways = [(name, failure) for name in exponents for failure in settings["failure"]]
            estimates: dict[tuple[str, float], list[float]] = {way: [] for way in ways}
            for _ in range(settings["replicates"]):
                moments = log_moment(rate, multiplier / population.draw((rounds, samples), rng))
                for name, failure in ways:
                    costs = round_costs(moments, worst[None], failure, exponents[name])
                    estimates[name, failure].append(float(best(costs.sum(axis=0), delta)[0]))
            for name, failure in ways:
                truth = rounds * population.log_mean(rate, multiplier, LAMBDAS, exponents[name])
                outcome = _outcome(
                    np.array(estimates[name, failure]), best(truth, delta)[0], best(worst, delta)[0], failure
                )
                yield {"study": "epsilon", **labels, "composition": name, "samples": samples} | outcome


def _outcome(estimates: np.ndarray, truth: Any, worst: Any, failure: float) -> dict[str, float]:
    return {
        "failure": failure,
        "replicates": len(estimates),
        "truth": float(truth),
        "worst": float(worst),
        "median": float(np.median(estimates)),
        "coverage": float(np.mean(estimates >= truth)),
    }


if __name__ == "__main__":
    settings = read_yaml(Path(__file__).with_name("settings.yaml"))
    out = Path("results/coverage")
    out.mkdir(parents=True, exist_ok=True)
    rows = study(settings, np.random.default_rng(settings["seed"]))
    rows.to_csv(out / "coverage.csv", index=False)
    table = rows.to_markdown(index=False, floatfmt=".4g", missingval="")
    (out / "coverage.md").write_text(f"{table}\n", encoding="utf-8")
