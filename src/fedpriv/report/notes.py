"""What stands under every table: data, seeds, sampling, hardware, and what was not run."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.account.trace_check import nothing_bounded
from fedpriv.paper.spends import SpendSelector
from fedpriv.report.numbers import METHOD, several
from fedpriv.report.results import Results

ESTIMATE = "A Bayesian ε is an estimate, never a guarantee: see docs/accounting.md."
SIZE = (
    "Sampling mismatch: where the noise or the denominator of a sum tells how many clients came, sampling "
    "hides one only among those who might have come instead; an ε by Poisson sampling is no guarantee there."
)
DISTANCE = (
    "An estimate is of the denominator that was used: remove_sum of a public number, remove_mean of those "
    "present."
)
PRIVATE_BOUND = (
    "The bound of the sum was taken from private data (the median of the clients' norms) without noise: an ε "
    "that leaves out what it reveals is no guarantee."
)
MISMATCH = "Sampling mismatch: cohorts were not drawn as the accountants assume; no ε here is a guarantee."
SEQUENTIAL = (
    "Sequential accounting supposes that it is secret, and drawn anew for every step, which client holds an "
    "example; here examples stay where they are, and no sequential ε is a guarantee."
)
MEAN_CLIPPED = (
    "Where only the mean of a batch was clipped, an instance ε that takes C for its sensitivity is what the "
    "paper claims, not a guarantee; that clipping certifies 2C."
)
LEAST = "The noise of clients that did not come is not known: no ε of accounting drawn is a guarantee."
TENSOR = (
    "Where one coin flips a whole tensor, an ε of one bit holds against nobody who sees another bit of that "
    "tensor."
)
SEARCHED = (
    "Hyper-parameters were chosen among {} candidates by their accuracy on private data; the search was not "
    "charged for in any ε here: see docs/accounting.md, tuning is not free."
)
# What each word of an accounting means.
ACCOUNTINGS = {
    "sequential": "an example is drawn with its share of all clients' examples; the costs of clients add up",
    "parallel": "an example is drawn with its share of its client's examples; the most costly client counts",
    "sum": "against who sees only the sum of the uploads, as behind secure aggregation",
    "sized": "against who sees only a sum or mean, and knows of how many clients it is",
    "upload": "against who sees every upload, such as a server without secure aggregation",
    "drawn": "the same, of a client who uploads only when it is drawn",
}
COINS = {
    "coordinate": "a coin for every weight, as the paper defines it",
    "tensor": "one coin for all weights of a tensor, as the released code has it",
}
NORMALISATION = {
    "shared": "batch normalisation sent in the clear",
    "local": "batch normalisation kept by its client",
    "none": "no batch normalisation",
}


def unique(frame: pd.DataFrame, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the distinct rows of some columns, in order of appearance."""
    return list(frame.filter(list(columns)).drop_duplicates().itertuples(index=False, name=None))


def stand_ins(runs: pd.DataFrame) -> str:
    """Return what a title must add where other data stand in for the paper's."""
    found = replaced(runs)
    return f" [{', '.join(found)}]" if found else ""


def replaced(runs: pd.DataFrame) -> list[str]:
    """Return which data stand in for those of the paper."""
    told = unique(runs, ("data", "stand_in_for"))
    return [f"{name} in place of {wanted}" for name, wanted in told if wanted]


def footnotes(results: Results, missing: Iterable[str] = ()) -> list[str]:
    """Return the facts behind `results`, a sentence each; `missing` are runs that were not run."""
    runs, trained = results.runs, results.trained
    notes = [note for part in (data, models, seeds, ended) for note in part(runs)]
    notes += [note for part in (settings, unbounded, instances, responses, noises) for note in part(trained)]
    notes += [*evaluations(runs), *secured(runs)]
    notes += [*accounting(results.epsilons, results.rounds), *machines(trained)]
    names = sorted(set(missing))
    return notes + ([f"Not run in this preset: {', '.join(names)}."] if names else [])


def configs(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the distinct configs of the runs."""
    return [json.loads(config) for config in runs["config"].unique()]


def data(runs: pd.DataFrame) -> list[str]:
    """Name the data, what they stand in for, and the split that was evaluated."""
    notes = []
    columns = ("data", "stand_in_for", "train_examples", "test_examples", "evaluated_on", "data_note")
    for name, wanted, train, test, split, made in unique(runs, columns):
        stands = f" standing in for {wanted}: these are not the paper's data" if wanted else ""
        how = f" {made.removesuffix('.')}." if made else ""
        notes.append(
            f"Data: {name}{stands}; {train:,} training examples, accuracy on {test:,} {split} examples.{how}"
        )
    return notes


def models(runs: pd.DataFrame) -> Iterator[str]:
    """Name the models that were trained, with their sizes."""
    told = unique(runs, ("config", "parameters"))
    found = {(json.dumps(json.loads(config)["model"]), parameters) for config, parameters in told}
    for described, parameters in sorted(found):
        model = json.loads(described)
        options = [f"{key} {plain(value)}" for key, value in model.items() if key != "name"]
        yield f"Model: {', '.join([model['name'], *options])}; {parameters:,} parameters."


def plain(value: Any) -> str:
    """Return a config value as a reader would write it: a list with dashes."""
    return "-".join(map(str, value)) if isinstance(value, list) else str(value)


def seeds(runs: pd.DataFrame) -> Iterator[str]:
    """Say how many seeds there are and what the intervals mean."""
    counts = runs.groupby("run", observed=True)["seed"].nunique()
    if len(counts):
        found = " to ".join(map(str, sorted({counts.min(), counts.max()})))
        alone = "; one seed has no interval" if counts.min() == 1 else ""
        yield f"Seeds a run: {found}; {METHOD}{alone}. Published numbers are single runs."


def ended(runs: pd.DataFrame) -> Iterator[str]:
    """Say which runs have diverged, and when."""
    gone = unique(runs.loc[runs["diverged"] > 0], ("run", "seed", "diverged"))
    if found := [f"{run} seed {seed} after round {round:,}" for run, seed, round in gone]:
        yield f"Diverged, their weights no longer finite: {'; '.join(found)}."


def secured(runs: pd.DataFrame) -> Iterator[str]:
    """Say which noise never comes again."""
    told = unique(runs, ("run", "config"))
    if private := [run for run, config in told if json.loads(config).get("secure_noise")]:
        yield f"Noise, coins and draws of the operating system: {', '.join(private)}."


def by_population(
    trained: pd.DataFrame, columns: Sequence[str], say: Callable[[pd.DataFrame], str]
) -> Iterator[str]:
    """Yield what `say` tells of every population's rows that agree in `columns`; the same is told once."""
    found: dict[str, list[str]] = {}
    several_data = trained["data"].nunique() > 1
    for (data, population, *_), some in groups(trained, ("data", "population", *columns)):
        found.setdefault(say(some), []).append(f"{f'{data}, ' if several_data else ''}N = {population:,}")
    yield from ("; ".join(places) + said for said, places in found.items())


def groups(frame: pd.DataFrame, columns: Sequence[str]) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Yield the distinct rows of some columns, in order, each with the rows of the frame."""
    yield from frame.groupby(list(columns), observed=True)


def settings(trained: pd.DataFrame) -> Iterator[str]:
    """Say for every population how clients were drawn, how much noise there was, how often data repeat."""

    def said(some: pd.DataFrame) -> str:
        first, noisy = some.iloc[0], some.loc[some["noise_multiplier"] > 0]
        sigmas, clips = several(noisy["noise_multiplier"]), several(noisy["clip_l2"])
        counts = several(noisy.loc[noisy["count_noise_multiplier"] < np.inf, "count_noise_multiplier"])
        noise = f"; σ = {sigmas}, C = {clips}" * bool(sigmas) + f", of counts σ = {counts}" * bool(counts)
        often, wanted = first["repetition"], f"{first['rounds_wanted']:,} rounds"
        repeated = f"an example is at {often:.3g} clients" if often > 1 else "no example is repeated"
        drawn = f"{first['sampling_law']} sampling, rate {first['sampling_rate']:g}"
        done = some.loc[some["diverged"] == 0].groupby(["run", "seed"], observed=True)["round"].max()
        if len(stopped := done[done < first["rounds_wanted"]]):
            wanted += f" at most, of which a budget allowed {several(stopped)}"
        return f": {drawn}{noise}; {wanted}; {repeated}."

    return by_population(trained, ("sampling_law", "sampling_rate", "repetition", "rounds_wanted"), said)


def unbounded(trained: pd.DataFrame) -> Iterator[str]:
    """Say in which runs there is noise on a sum of which nothing bounds a client's part."""
    bare = trained.loc[nothing_bounded(trained)]
    if runs := sorted(set(bare["run"])):
        yield (
            f"Nothing bounds what a client adds to the sum in {', '.join(runs)} (clipping as released: small "
            f"updates are scaled up, large ones pass), and noise of std {several(bare['noise_std'])} on it "
            "hides nobody: no ε holds."
        )


def instances(trained: pd.DataFrame) -> Iterator[str]:
    """Say for every population how its clients protected their examples, and what an example is."""

    def said(some: pd.DataFrame) -> str:
        batches = several(config["local"]["batch_size"] for config in configs(some))
        sampled = {config["scheme"]["distances"] for config in configs(some)}
        distances = f"distances of {several(sampled)} examples a step and client" if any(sampled) else ""
        steps = several(some["local_steps"])
        every = some["per_example_clip"].iloc[0]
        clipped = "the gradient of every example clipped" if every else "only the mean of a batch clipped"
        return (
            f", noise at clients ({', '.join(sorted(set(some['scheme'])))}): Poisson batches of {batches} "
            f"examples on average, {several(some['rate_parallel'])} of a client's and "
            f"{several(some['rate_sequential'])} of all; {steps} local step{'s' if steps != '1' else ''} a "
            f"round; {clipped}, S = {several(some['instance_clip_l2'])}; "
            f"σ = {several(some['instance_noise_multiplier'])}; {distances or 'no distances'}."
        )

    noisy = trained.loc[trained["instance_noise_multiplier"] > 0]
    yield from by_population(noisy, ["per_example_clip"], said)
    made = configs(noisy.loc[noisy["data_note"] != ""])
    if copies := {config.get("photos", {}).get("copies", 1) for config in made} - {1}:
        yield f"An instance ε is for one augmented copy; an image has {several(copies)}."


def responses(trained: pd.DataFrame) -> Iterator[str]:
    """Say how clients flipped bits, what else they sent, and how much of the broadcast they took over."""
    found: dict[str, list[float]] = {}
    for (gamma, coins, config), some in groups(
        trained.loc[trained["noisy_bits"] > 0], ("gamma", "flips", "config")
    ):
        read, clear = json.loads(config), int(some["clear_values"].max())
        gain = read["scheme"].get("gain", 1)
        words = [
            COINS[coins],
            f"{int(some['noisy_bits'].max()):,} bits an upload",
            NORMALISATION[read["model"].get("bn", "none")] + (f" ({clear:,} numbers)" if clear else ""),
            f"β = {read['local'].get('mixing', 1):g}",
            "the mean divided by 2γ" if read["scheme"].get("debias") else "",
            f"the mean times {gain:g}" if gain != 1 else "",
        ]
        found.setdefault("; ".join(filter(None, words)), []).append(gamma)
    yield from (f"Randomised response, γ = {several(gammas)}: {words}." for words, gammas in found.items())


def noises(trained: pd.DataFrame) -> list[str]:
    """Say how much noise was on uploads and before broadcasts, and what bounds an upload beneath it."""
    noisy = trained.loc[(trained["upload_noise_std"] > 0) | (trained["broadcast_noise_std"] > 0)]
    if noisy.empty:
        return []
    up, down = noisy.loc[noisy["upload_noise_std"] > 0], noisy["broadcast_noise_std"]
    bounds = several(bound for bound in up["upload_l2"] if np.isfinite(bound))
    bare = "nothing" if np.isinf(up["upload_l2"]).any() else ""
    parts = [
        f"on uploads of std {several(up['upload_noise_std'])} at least" if len(up) else "",
        f"beneath it the norm bounded by {' or '.join(filter(None, (bounds, bare)))}" if len(up) else "",
        f"before broadcasts of std {several(down)}" if any(down) else "none before broadcasts",
    ]
    return [f"Gaussian noise ({', '.join(noisy['scheme'].unique())}): {'; '.join(filter(None, parts))}."]


def evaluations(runs: pd.DataFrame) -> Iterator[str]:
    """Say whose weights were evaluated, where it was not the server's."""
    found = (config.get("evaluation", {}) for config in configs(runs))
    ways = dict.fromkeys((how["stride"], how["drawn"]) for how in found if how.get("models") == "clients")
    for stride, drawn in ways:
        part = f"; on one of {stride} test examples" if stride > 1 else ""
        yield (
            "Accuracy is the mean over all clients' own weights, which they have after a broadcast"
            f"{part}. Drawn: {drawn} clients, with replacement."
        )


def accounting(epsilons: pd.DataFrame, rounds: pd.DataFrame) -> list[str]:
    """Say which ε are not what they seem; `rounds` are those that they were spent in."""
    counted = epsilons.loc[epsilons["unit"] != "none"]
    notes = [ESTIMATE] if "estimate" in set(counted["kind"]) else []
    bounded = rounds[["run", "seed", "round", "clip_private", "per_example_clip"]]
    unmet = counted.loc[~counted["assumptions_met"]].merge(bounded, on=["run", "seed", "round"])
    examples, bits = unmet["unit"] == "instance", unmet["sensitivity"] == "bit"
    law, guarantees, private = unmet["sampling_law"], unmet["kind"] == "guarantee", unmet["clip_private"] == 1
    poisson = ~examples & ((law == "poisson") | (law == "full") & ~guarantees)
    reasons = {
        PRIVATE_BOUND: private,
        MISMATCH: ~examples & ~bits & ~poisson & (unmet["accounting"] != "drawn"),
        LEAST: unmet["accounting"] == "drawn",
        SIZE: poisson & ~private & guarantees,
        DISTANCE: poisson & ~private & ~guarantees,
        TENSOR: bits,
        SEQUENTIAL: unmet["accounting"] == "sequential",
        MEAN_CLIPPED: examples & ~unmet["per_example_clip"],
    }
    return notes + [reason for reason, rows in reasons.items() if rows.any()]


def accountings(spends: Iterable[SpendSelector]) -> list[str]:
    """Say what the accountings among `spends` mean."""
    words = {spend.accounting for spend in spends}
    return [f"{word}: {meaning}." for word, meaning in ACCOUNTINGS.items() if word in words]


def machines(trained: pd.DataFrame) -> list[str]:
    """Name hardware and engine, and say how long the rounds took."""
    return [
        f"Computed on {hardware} by {engine}: {some['seconds'].sum() / 60:,.0f} minutes of training in all; "
        f"results version {version}."
        for (hardware, engine, version), some in groups(trained, ("hardware", "engine", "results_version"))
    ]
