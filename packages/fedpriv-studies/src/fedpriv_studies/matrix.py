"""Exact Gaussian accounting where nobody is sampled: of correlated noise, and of clients who come in turn.

All releases together are one Gaussian, whose noise is independent in the coordinates in which it is
added, and one client moves them by a sensitivity that depends on how often it comes and how far apart. So
they cost what one release of that sensitivity over the noise does, whose curve (ε, δ) is known in closed
form. Sensitivities are counted in units of the bound, and squared.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from fedpriv.account import pld, rdp
from fedpriv.account.accountants import Accountant
from fedpriv.account.statement import Curve
from fedpriv.errors import BadInput, short_repr
from fedpriv_studies.correlated import MATRICES, Matrix, Turns, matrix_of, not_read

if TYPE_CHECKING:
    from fedpriv.account.views import View

MOST = 10**5  # rounds: the tables of more do not fit


@cache  # runs of one paper differ in their data more often than in their matrix
def squared_sensitivities(matrix: Matrix, rounds: tuple[int, ...], times: int, spacing: int) -> np.ndarray:
    """Return the square of the sensitivity of the first rounds together, for each number of `rounds`."""
    return matrix.squares(rounds, times, spacing)


def independent_squares(costs: np.ndarray, times: int, spacing: int) -> np.ndarray:
    """Return it after every round `[T]` where noise is independent and a round by itself `costs` `[T]`."""
    most = np.zeros(len(costs) + 1)  # after each round, of one time less
    for _ in range(min(times, -(-len(costs) // spacing))):
        before = most[np.maximum(np.arange(len(costs)) + 1 - spacing, 0)]
        most = np.concatenate([[0.0], np.maximum.accumulate(before + costs)])
    return most[1:]


# Who is taken out of a cohort of fixed size leaves its place empty, for no other would come instead.
IN_ITS_PLACE = {"C": "zero_out", "2C": "replace_one"}
CHANGES = "the noise or the bound of a matrix changes from round to round"


def epsilon(
    *,
    sampling_rate: float,
    noise_multiplier: float,
    rounds: int,
    delta: float,
    matrix: str = "tree",
    bands: int = 0,
    numbers: str = "",
    participations: int = 0,
    rounds_apart: int = 0,
) -> float:
    """Return ε of rounds of `spaced` cohorts, in each of which is this share of all clients.

    How often and how far apart a client comes follows from that share where it is not said, and the matrix
    from both; none comes more seldom or farther apart than in turn. For clients that are zeroed out, or
    removed at a share of 1.
    """
    if matrix not in MATRICES:
        raise BadInput(f"matrix: found {matrix}, allowed: {', '.join(MATRICES)}")
    counts = {
        "bands": bands,
        "participations": participations,
        "rounds_apart": rounds_apart,
        "rounds": rounds,
    }
    for name, value in counts.items():
        # As they come from a command line.
        if not (type(value) is int and 0 <= value <= MOST):
            raise BadInput(f"{name}: found {short_repr(value)}, allowed: whole numbers, at most {MOST:g}")
    if unread := not_read(MATRICES[matrix], bands, numbers):
        raise BadInput(unread)
    share = Fraction(sampling_rate).limit_denominator(10**9)
    least, most = -int(-rounds * share // 1), int(1 / share)
    times, spacing = participations or least, rounds_apart or most
    if times < least or spacing > most:
        raise BadInput(
            f"participations, rounds_apart: found {times}, {spacing}, allowed: at least {least}, at most "
            f"{most}, for clients who come in turn, a share of {sampling_rate:g} in each of {rounds} rounds"
        )
    kind, turns = MATRICES[matrix], Turns(rounds, times, spacing)
    made = kind.read(bands, numbers) if numbers else kind.planned(turns, bands)
    (square,) = squared_sensitivities(made, (rounds,), times, spacing)
    return rdp.guaranteed_epsilon(float(np.sqrt(square)) / noise_multiplier, delta)


def curves(view: View, delta: float) -> list[Curve]:
    """Return ε after every round for sensitivities C and 2C; nothing for a matrix that is not known.

    Nor for independent noise where clients are sampled, of which the others count less.
    """
    independent = view.mechanism == "gaussian"
    if view.accounting not in ("", "sum") or (independent and view.law != "spaced"):
        return []
    noise = np.array([release.noise_multiplier for release in view.releases])
    of_rounds = np.where(view.counts > 0, noise, np.inf).min(axis=1)  # [T]
    if independent:
        with np.errstate(divide="ignore", over="ignore"):
            square, violation = independent_squares(of_rounds**-2.0, *limits(view)), ""
    elif (matrix := matrix_of({name: column[0] for name, column in view.facts.items()})) is None:
        return []
    else:
        square, violation = matrix_costs(view, matrix, of_rounds)
    relations = IN_ITS_PLACE if view.law in ("fixed", "spaced") else view.relations
    view = view._replace(relations=relations, violation=view.violation or violation)
    mu = np.sqrt(square)
    return [
        view.curve(epsilon_of_mu(mu * reach, delta), np.full(len(mu), np.nan), "matrix", sensitivity)
        for sensitivity, reach in (("C", 1.0), ("2C", 2.0))
        if sensitivity in relations
    ]


def limits(view: View) -> tuple[int, int]:
    """Return the most participations of a client and the least gap, as far as a trace says so."""
    times, spacing = (int(view.facts[name][0]) for name in ("participations", "rounds_apart"))
    return times or len(view.counts), spacing


def matrix_costs(view: View, matrix: Matrix, noise: np.ndarray) -> tuple[np.ndarray, str]:
    """Return the square of the sensitivity over the noise after every round `[T]`, and what it assumes.

    It is that of a later round between those that are evaluated.
    """
    least, bound = noise[noise > 0], view.samples.bound
    alike = len(np.unique(noise)) == len(np.unique(bound)) == 1
    at = pld.evaluation_rounds(len(noise))
    squares = squared_sensitivities(matrix, tuple(at), *limits(view))
    later = squares[np.searchsorted(at, np.arange(1, len(noise) + 1))]
    bare = np.cumsum(noise == 0) > 0
    over = later / least.min() ** 2 if len(least) else later
    return np.where(bare, np.inf, over), "" if alike else CHANGES


def epsilon_of_mu(mu: np.ndarray, delta: float) -> np.ndarray:
    """Return ε of each μ."""
    epsilons: Mapping[float, float] = {value: of(value, delta) for value in np.unique(mu).tolist()}
    return np.array([epsilons[value] for value in mu.tolist()])


of = cache(rdp.guaranteed_epsilon)  # runs of one paper differ in their data more often than in their noise


MATRIX = Accountant(
    curves,
    ("correlated_gaussian", "gaussian"),
    ("poisson", "fixed", "full", "spaced"),
    epsilon,
    "spaced",
    "Assumed: clients come in turn, a share q of them in every round (cohort law spaced; everyone at q = 1), "
    "one client is zeroed out, and the noise on the sum of clipped updates is correlated through a matrix.",
)
