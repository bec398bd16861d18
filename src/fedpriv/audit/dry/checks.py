"""What a dry run looks at beside an attack: the law of the noise, cohorts, and rounds played again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtr
from scipy.stats import beta, binom, chi2, chisquare, f, kstest, norm, poisson, t

from fedpriv.audit.dry.attacks import Statement, normal_scores
from fedpriv.audit.dry.rounds import Round, Site, declared_bound, declared_std, zero_rows
from fedpriv.mechanisms.clipping import norms_of
from fedpriv.schemes.base import Memory
from fedpriv.streams import Streams
from fedpriv.trace import SAMPLED

if TYPE_CHECKING:
    import torch


NORMS = (0.5, 1.01, 3.0, 10.0, 1e6)  # of hostile uploads, in units of the bound
HUGE = 3e38  # near the largest number of float32
ROUNDED = 1e-3  # its square is what float32 may move a sum by, relatively
DRAWS = 400  # of a round's noise, for what is kept of it
PROBE_NUMBERS = 16  # of an upload, there


class ProbedRound(NamedTuple):
    """One round of hostile uploads, and the means to play it again."""

    site: Site
    said: Statement
    round: int
    memory: Memory
    streams: Streams
    rows: torch.Tensor
    played: Round

    @property
    def bound(self) -> float:
        """Return the norm that a part of what is seen is declared to have at most."""
        return declared_bound(self.played.facts, self.said.attack, self.site.of_examples)

    @property
    def rounding(self) -> float:
        """Move of a sum that float32 may cause."""
        return ROUNDED**2 * (
            self.bound + float(self.played.clean.double().norm()) + float(self.played.total.norm())
        )

    def again(self, rows: torch.Tensor) -> Round:
        """Return the same round, with other uploads of the same clients."""
        return self.site.play(rows, np.arange(len(rows)), self.round, self.memory, self.streams)

    def without(self, one: int) -> Round:
        """Return the round of a neighbour: one upload is left out or, with its noise kept, is zero."""
        if self.said.relation != "add_remove" or self.played.facts["noise_in_sum"]:
            return self.again(zero_row(self.rows, one))
        others = np.delete(np.arange(len(self.rows)), one)
        return self.site.play(self.rows[others], others, self.round, self.memory, self.streams)

    def which(self) -> Iterator[int]:
        """Yield the uploads to leave out: each in the first round and the last, one in each of the others."""
        first_or_last = self.round in (1, self.site.mechanism.plan.rounds)
        yield from range(len(self.rows)) if first_or_last else [self.round % len(self.rows)]


def zero_row(rows: torch.Tensor, one: int) -> torch.Tensor:
    """Return the rows with one of them zero."""
    found = rows.clone()
    found[one] = 0.0
    return found


def hostile(bound: float, dimension: int, rng: np.random.Generator) -> torch.Tensor:
    """Return uploads `[n, d]` of several norms: dense, equal, sparse, of one number; and no numbers."""
    import torch

    few = rng.permutation(dimension)[: max(2, math.isqrt(dimension))]
    shapes = np.zeros((4, dimension))
    shapes[0], shapes[1], shapes[3, few[0]] = rng.standard_normal(dimension), 1.0, -1.0
    shapes[2, few] = rng.standard_normal(len(few))
    shapes /= np.linalg.norm(shapes, axis=1, keepdims=True)
    rows = (bound * np.array(NORMS)[:, None, None] * shapes).reshape(-1, dimension)
    odd = np.zeros((3, dimension))
    odd[0, 0], odd[1, -1], odd[2] = np.nan, np.inf, HUGE
    return torch.from_numpy(np.concatenate([rows.clip(-HUGE, HUGE), odd])).float()


def repeatable(probe: ProbedRound) -> str:
    """Fault: a round played again is another, so that no run could be resumed, or probed."""
    if probe.round > 1 or np.array_equal(probe.again(probe.rows).total, probe.played.total, equal_nan=True):
        return ""
    return "the same round played again is another: some of its randomness is not from the run's streams"


def numbers_alone(probe: ProbedRound) -> str:
    """Fault: an upload that is no number reaches the sum."""
    finite = bool(probe.played.clean.isfinite().all())
    return "" if finite else "an upload that is no number reaches the sum"


def within_bound(probe: ProbedRound) -> str:
    """Fault: a part of a sum is longer than is declared."""
    if probe.site.of_examples:  # of which the sum alone is seen
        return ""
    norms = norms_of(probe.played.clean.nan_to_num(0.0, 0.0, 0.0)).numpy()
    one = int(norms.argmax())
    if norms[one] <= probe.bound:
        return ""
    sent, norm = (value / probe.bound for value in (float(norms_of(probe.rows[[one]])), norms[one]))
    return f"an upload of norm {sent:.4g} has norm {norm:.7g} in the sum, in units of the bound"


def moves_by_the_bound(probe: ProbedRound) -> str:
    """Fault: one upload moves the noisy sum farther than is declared."""
    moved = max(float((probe.played.total - probe.without(one).total).norm()) for one in probe.which())
    if moved <= probe.said.reach * probe.bound + probe.rounding:
        return ""
    return f"one upload moves the sum by {moved / probe.bound:.4g} times the bound"


def noise_is_its_own(probe: ProbedRound) -> str:
    """Fault: the noise depends on the updates."""
    quiet = probe.again(zero_rows(*probe.rows.shape))
    noise, other = (one.total - one.clean.double().sum(0) for one in (probe.played, quiet))
    moved = float((noise - other).norm())
    return "" if moved <= probe.rounding else "the noise is another where other updates are sent"


def nothing_beside(probe: ProbedRound) -> str:
    """Fault: the server receives more of an upload than its noisy numbers."""
    inside = probe.played.received.inside
    if probe.said.attack != "upload" or inside is None:
        return ""
    for one in probe.which():
        other = probe.again(zero_row(probe.rows, one)).received.inside
        if other is None or bool((other != inside).any()):
            return "beside an upload the server receives, without noise, whether it was within the bound"
    return ""


PROBES: dict[str, Callable[[ProbedRound], str]] = {
    "repeatable": repeatable,
    "finite": numbers_alone,
    "bound": within_bound,
    "sum": moves_by_the_bound,
    "noise": noise_is_its_own,
    "beside": nothing_beside,
}


def probe_of(site: Site, said: Statement, round: int, memory: Memory, streams: Streams) -> ProbedRound:
    """Return the round with hostile uploads, for the bound that it has."""
    facts = site.play(zero_rows(1, site.dimension), np.zeros(1, int), round, memory, streams).facts
    bound = declared_bound(facts, said.attack, site.of_examples) * (site.expected if site.of_examples else 1)
    rows = hostile(bound, site.dimension, streams.numpy("hostile", round))
    played = site.play(rows, np.arange(len(rows)), round, memory, streams)
    return ProbedRound(site, said, round, memory, streams, rows, played)


def probe_round(site: Site, said: Statement, round: int, memory: Memory, streams: Streams) -> dict[str, str]:
    """Faults of a round, by the names of probes."""
    probe = probe_of(site, said, round, memory, streams)
    found = {name: look(probe) for name, look in PROBES.items()}
    return {name: text for name, text in found.items() if text}


def memory_fault(site: Site, said: Statement, alpha: float) -> str:
    """Fault: what the scheme keeps from round to round tells more of a client than is accounted.

    It is looked at after the first round and the last.
    """
    site, rounds = site._replace(dimension=PROBE_NUMBERS), site.mechanism.plan.rounds
    memory, streams = site.mechanism.scheme.memory(PROBE_NUMBERS), Streams(0, "dry run of what is kept")
    for round in range(1, rounds + 1) if memory else ():
        probe = probe_of(site, said, round, memory, streams)
        if round in (1, rounds) and leaks(probe, alpha / 2):
            return f"what is kept after round {round} tells more of a client than is accounted"
        memory = probe.played.memory
    return ""


def leaks(probe: ProbedRound, alpha: float) -> bool:
    """Return True where a number is kept that moves by more of its noise than the account has left for it.

    What does not depend on the noisy sum has what the sum leaves of 1/z², else all of it.
    """
    whole, sums = memory_draws(probe, ProbedRound.again, probe.rows)
    reach = probe.said.reach
    allowed = (reach / probe.said.multipliers[probe.round - 1]) ** 2
    of_sum = (reach * probe.bound / declared_std(probe.played.facts, len(probe.rows))) ** 2
    most = whole.var(axis=0, ddof=1) * (DRAWS - 1) / chi2.ppf(alpha / (2 * whole.shape[1]), DRAWS - 1)
    unit = ROUNDED**3 * np.abs(whole).max(axis=0)
    for one in (0, len(probe.rows) // 2):  # within the bound, and beyond it
        moved = np.abs((memory_draws(probe, ProbedRound.without, one)[0] - whole).mean(axis=0))
        for number in np.flatnonzero(moved > unit):
            left = allowed - (0.0 if depends_on_sums(whole[:, number], sums) else of_sum)
            if moved[number] ** 2 > (left + ROUNDED * allowed) * max(most[number], unit[number] ** 2):
                return True
    return False


def memory_draws(
    probe: ProbedRound, play: Callable[[ProbedRound, Any], Round], what: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers kept `[draws, numbers]` and noisy sums `[draws, d]` of a round with other noise."""
    found = [play(probe._replace(streams=Streams(draw, "what is kept")), what) for draw in range(DRAWS)]
    numbers = [
        np.concatenate([part.double().numpy().ravel() for part in one.memory.values()]) for one in found
    ]
    return np.array(numbers), np.array([one.total.numpy() for one in found])


def depends_on_sums(number: np.ndarray, sums: np.ndarray) -> bool:
    """Return True where a number depends on noisy sums, of which it may be made."""
    centred, sums = number - number.mean(), sums - sums.mean(axis=0)
    fitted = sums @ np.linalg.lstsq(sums, centred, rcond=None)[0]
    degrees = sums.shape[1], len(number) - sums.shape[1] - 1
    explained, rest = float(fitted @ fitted), float((centred - fitted) @ (centred - fitted))
    return rest == 0 or float(f.sf(explained / degrees[0] / (rest / degrees[1]), *degrees)) < 1e-6


ALPHA = 1e-3  # how often one of all checks of a sound mechanism is wrong: confidence pays
EDGES = np.linspace(-10, 10, 161)  # of the cells into which noise falls, over σ
FEWEST = 20  # numbers that are expected in a cell of which the law is looked at
COARSER = 30  # than float32 rounds: noise is taken for the same that is as near
TOLERATED = 1.1  # times as much of that as there is by chance


class Seen(NamedTuple):
    """What dry runs of one site have shown: transcripts, noise over σ, cohorts."""

    site: Site
    inside: np.ndarray  # scores with the canary
    outside: np.ndarray  # and without
    powers: np.ndarray  # [runs, T], sums of squares of the noise of a round
    cells: np.ndarray  # how many numbers of noise fell between two `EDGES`
    ends: np.ndarray  # [2], the least and the most of them
    ties: np.ndarray  # [2], how many pairs of them are the same within a round, and how many are expected
    gram: np.ndarray  # [d, d], sums over runs and rounds of products of two of its numbers
    together: np.ndarray  # [T, T], sums over runs and numbers of products of the noise of two rounds
    apart: np.ndarray  # [T], the same of a round and that of the run before; zero where there is one run
    sizes: np.ndarray  # [runs, T], of cohorts
    shared: np.ndarray  # [T, T], sums over runs of how many came in both of two rounds
    company: np.ndarray  # [population, population], sums over runs of the rounds in which both of two came

    @property
    def rounds(self) -> int:
        """Return of how many rounds there is noise, of all runs."""
        return self.powers.size


def histogram(noise: np.ndarray) -> np.ndarray:
    """Return the counts of the numbers in each cell; those beyond, and what is no number, are in the last."""
    return np.histogram(np.nan_to_num(noise, nan=np.inf).clip(EDGES[0], EDGES[-1]), EDGES)[0]


def coincidences(noise: np.ndarray, grain: float) -> tuple[float, float]:
    """Count of pairs of a round's noise that are the same but for their sign, and the expected count.

    Of independent normals two fall into the same cell of width w σ with probability w/√π.
    """
    size = float((noise**2).mean()) ** 0.5 if noise.size else 0.0
    width = COARSER * grain
    if not 0 < width < size / 100:  # of bits, and where the noise is next to nothing
        return 0.0, 0.0
    counts = np.unique(np.floor(np.abs(noise) / width), return_counts=True)[1]
    expected = math.comb(noise.size, 2) * width / size / math.sqrt(math.pi)
    return float((counts * (counts - 1)).sum()) / 2, expected


def variance(seen: Seen, alpha: float) -> str:
    """Return by how much all of the noise is off."""
    total, numbers = float(seen.powers.sum()), seen.rounds * len(seen.gram)
    off = spread_pvalue(total, numbers) < alpha
    return f"the noise has {total / numbers:.4g} times the variance that is stated" if off else ""


def centre(seen: Seen, alpha: float) -> str:
    """Fault: the noise is not around zero; of bits, another share of them is flipped."""
    numbers = max(1.0, float(seen.cells.sum()))
    mean = float(seen.cells @ (EDGES[1:] + EDGES[:-1])) / 2 / numbers
    return f"the mean of the noise is {mean:.4g} σ" if 2 * ndtr(-abs(mean) * numbers**0.5) < alpha else ""


def spread_pvalue(squares: float | np.ndarray, numbers: int) -> np.ndarray:
    """P-value of a sum of so many squares of standard normals, in either direction."""
    return 2 * np.minimum(chi2.sf(squares, numbers), chi2.cdf(squares, numbers))


def law(seen: Seen, alpha: float) -> str:
    """Fault: numbers of the noise are not normal, by Pearson's test, or by the ends."""
    total = int(seen.cells.sum())
    expected = total * np.diff(ndtr(EDGES))
    inner = np.flatnonzero(expected >= FEWEST)
    if not len(inner):
        return ""
    edges = np.array([-np.inf, *EDGES[inner], EDGES[inner[-1] + 1], np.inf])
    found, wanted = (
        np.array([cells[: inner[0]].sum(), *cells[inner], cells[inner[-1] + 1 :].sum()])
        for cells in (seen.cells, expected)
    )
    if 2 * chisquare(found, wanted).pvalue >= alpha:
        least, most = seen.ends.tolist()
        rare = 2 * near_ends(least, most, total) < alpha
        return f"the noise is not normal: it lies between {least:.4g} and {most:.4g} σ" if rare else ""
    one = int((np.abs(found - wanted) / np.sqrt(wanted)).argmax())
    return (
        f"the noise is not normal: between {edges[one]:.4g} and {edges[one + 1]:.4g} σ "
        f"are {found[one]} of its numbers and not about {wanted[one]:.0f}"
    )


def ties(seen: Seen, alpha: float) -> str:
    """Fault: numbers of the noise of a round are the same but for their sign."""
    found, expected = seen.ties
    if poisson.sf(found - 1, TOLERATED * expected) >= alpha:
        return ""
    return f"numbers of the noise come again in its round: {found:.0f} pairs and not about {expected:.0f}"


def level(seen: Seen, alpha: float) -> str:
    """Fault: noise is more in some rounds than in others, or the same in all of them."""
    levels = norm.ppf(chi2.cdf(seen.powers, len(seen.gram)))
    if normal_pvalue(levels) >= alpha:
        return ""
    times = root_mean_square(levels)
    return f"the level of the noise changes from round to round {times:.3g} times as far as by chance"


def normal_pvalue(scores: np.ndarray) -> float:
    """P-value of scores as standard normals: by spread, by Kolmogorov and Smirnov, by their ends."""
    rare = (
        float(spread_pvalue((scores**2).sum(), scores.size)),
        kstest(scores.ravel(), "norm").pvalue,
        near_ends(scores.min(), scores.max(), scores.size),
    )
    return len(rare) * min(rare)


def near_ends(least: float, most: float, numbers: int) -> float:
    """Probability that so many standard normals lie all between such ends."""
    return float(beta.sf(ndtr(least) + ndtr(-most), 2, numbers - 1)) if numbers > 1 else 1.0


def root_mean_square(scores: np.ndarray) -> float:
    """Root mean square of scores: 1 of standard normals."""
    return float((scores.clip(-40, 40) ** 2).mean()) ** 0.5


def directions(seen: Seen, alpha: float) -> str:
    """Return along which direction the variance is another: of one number, of all, of layers' difference."""
    number = np.arange(len(seen.gram))
    second = number >= len(number) - len(number) // 2  # of two layers
    signs = 1 - 2 * np.stack([0 * number, number % 2, second])
    rows = np.vstack([signs, np.eye(len(number))])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    found = np.einsum("ki,ij,kj->k", rows, seen.gram, rows, optimize=True)
    rare = spread_pvalue(found, seen.rounds)
    worst = int(rare.argmin())
    if rare[worst] >= alpha / len(rows):
        return ""
    names = ["the sum of all numbers", "their alternating sum", "the difference of two layers"]
    name = names[worst] if worst < len(names) else "one number"
    return f"the noise along {name} has {found[worst] / seen.rounds:.4g} times the variance that is stated"


def any_direction(seen: Seen, alpha: float) -> str:
    """Fault: along some direction the noise has another variance.

    Of n rounds of d independent standard normals no singular value is farther than √d + √(2 ln(2/α)) from
    √n: Davidson and Szarek 2001, "Local operator theory, random matrices and Banach spaces", theorem II.13.
    """
    dimension = len(seen.gram)
    far = math.sqrt(dimension) + math.sqrt(2 * math.log(2 / alpha))
    singular = np.sqrt(np.linalg.eigvalsh(seen.gram)[[0, -1]].clip(min=0))
    least, most = singular - math.sqrt(seen.rounds)
    if least >= -far and most <= far:
        return ""
    worst = float(singular[0 if least < -far else 1]) ** 2 / seen.rounds
    return f"along some direction the noise has {worst:.4g} times the variance that is stated"


def number_pairs(seen: Seen, alpha: float) -> str:
    """Fault: two numbers of the noise are not independent."""
    first, second, rare = least_independent(seen.gram, seen.rounds)
    return f"the noise of numbers {first} and {second} is not independent" if rare < alpha else ""


def round_pairs(seen: Seen, alpha: float) -> str:
    """Fault: two rounds have noise that is not independent."""
    first, second, rare = least_independent(seen.together, len(seen.powers) * len(seen.gram))
    return f"the noise of round {first} comes again in round {second}" if rare < alpha else ""


def runs(seen: Seen, alpha: float) -> str:
    """Fault: the noise of a round is that of another run."""
    before, after = seen.powers[:-1].sum(axis=0), seen.powers[1:].sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rare = chance(seen.apart / np.sqrt(before * after), (len(seen.powers) - 1) * len(seen.gram))
    one = int(rare.argmin())
    return f"the noise of round {one + 1} comes again in another run" if rare[one] < alpha / len(rare) else ""


def least_independent(products: np.ndarray, samples: int) -> tuple[int, int, float]:
    """Places, counted from 1, of the least independent pair, and its p-value among all pairs."""
    size = np.sqrt(np.diag(products))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.nan_to_num(np.triu(products / np.outer(size, size), 1))
    first, second = np.unravel_index(int(np.abs(correlation).argmax()), correlation.shape)
    rare = float(chance(correlation[first, second], samples))
    return int(first) + 1, int(second) + 1, rare * max(1, math.comb(len(size), 2))


def chance(correlation: np.ndarray, samples: int) -> np.ndarray:
    """P-value of a correlation of so many pairs of independent normals of mean 0; 1 of nothing."""
    if samples < 2:
        return np.ones_like(correlation)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.abs(correlation) * np.sqrt((samples - 1) / np.fmax(1 - correlation**2, 0.0))
    return np.where(np.isnan(odds), 1.0, 2 * t.sf(odds, samples - 1))


def sizes(seen: Seen, alpha: float) -> str:
    """Fault: clients do not come as the law says: by cohorts, by rounds, by clients."""
    law, population = seen.site.mechanism.law, seen.site.population
    expected, rng = law.expected(population), np.random.default_rng(0)
    if law.law != "poisson":
        return (
            ""
            if (seen.sizes == expected).all()
            else f"a cohort is not of the {expected:g} clients that it shall be"
        )
    of = {
        "cohorts": (seen.sizes, population),
        "rounds": (seen.sizes.sum(axis=0), len(seen.sizes) * population),
        "clients": (np.diag(seen.company), seen.rounds),
    }
    for name, (counts, trials) in of.items():
        scores = normal_scores(counts, trials, expected / population, rng)
        if normal_pvalue(scores) < alpha / len(of):
            return (
                f"a client comes with probability {counts.mean() / trials:.4g}, "
                f"and {name} differ {root_mean_square(scores):.3g} times as far as by chance"
            )
    return ""


def cohorts(seen: Seen, alpha: float) -> str:
    """Fault: two rounds have too many clients in common, or too few."""
    population = seen.site.population
    chance = (seen.site.mechanism.law.expected(population) / population) ** 2
    if chance == 1 or seen.site.mechanism.law.law not in SAMPLED:
        return ""  # of those who come in turn every run is looked at by itself
    first, second, rare = rarest_pair(seen.shared, len(seen.powers) * population, chance)
    return f"the cohort of round {second} depends on that of round {first}" if rare < alpha else ""


def company(seen: Seen, alpha: float) -> str:
    """Fault: two clients come together too often, or too seldom."""
    law, population = seen.site.mechanism.law, seen.site.population
    if law.law != "poisson":
        return ""
    first, second, rare = rarest_pair(seen.company, seen.rounds, (law.expected(population) / population) ** 2)
    return f"whether client {second} comes depends on whether client {first} does" if rare < alpha else ""


def rarest_pair(counts: np.ndarray, trials: int, chance: float) -> tuple[int, int, float]:
    """Places, counted from 1, of the pair with the rarest count, and its p-value among all pairs."""
    first, second = np.triu_indices(len(counts), 1)
    if not len(first):
        return 1, 1, 1.0
    pairs = counts[first, second]
    ends = np.array([pairs.argmin(), pairs.argmax()])
    # In either direction.
    above, below = binom.sf(pairs[ends] - 1, trials, chance), binom.cdf(pairs[ends], trials, chance)
    rare = 2 * np.minimum(above, below)
    one = ends[rare.argmin()]
    return int(first[one]) + 1, int(second[one]) + 1, float(rare.min()) * len(pairs)


Check = Callable[[Seen, float], str]
# Of the noise: where one of these is wrong, nobody knows how scores are distributed without the canary.
NOISE: dict[str, Check] = {
    "variance": variance,
    "centre": centre,
    "law": law,
    "ties": ties,
    "level": level,
    "directions": directions,
    "any direction": any_direction,
    "numbers": number_pairs,
    "rounds": round_pairs,
    "runs": runs,
}
COHORTS: dict[str, Check] = {"sizes": sizes, "cohorts": cohorts, "company": company}
EACH = ALPHA / (len(NOISE) + len(COHORTS) + 1)  # of one check; that of what is kept is in `probes`


def check_runs(seen: Seen) -> dict[str, str]:
    """Text of each check: empty where it found nothing."""
    return {name: look(seen, EACH) for name, look in (NOISE | COHORTS).items()}
