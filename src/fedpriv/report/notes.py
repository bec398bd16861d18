"""What stands under every table: data, seeds, sampling, hardware, and what was not run."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.account.trace_check import nothing_bounded
from fedpriv.paper.spends import SpendSelector
from fedpriv.report.numbers import METHOD, several

ESTIMATE = "A Bayesian ε is an estimate, never a guarantee: see docs/guarantees.md."
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
MISMATCH = "Sampling mismatch: clients were not sampled as the accountants assume; no ε here is a guarantee."
SEQUENTIAL = (
    "Sequential accounting supposes that nobody knows which client holds an example, and that examples are "
    "dealt anew for every step. Here they stay where they are, so no sequential ε is a guarantee."
)
MEAN_CLIPPED = (
    "Where only the mean of a batch was clipped, an example-level ε at sensitivity C is what the paper "
    "claims. It is not a guarantee: that clipping certifies 2C."
)
LEAST = "The noise of clients that were not sampled is not known: no ε of accounting drawn is a guarantee."
TENSOR = (
    "Where whole tensors are flipped, an ε of one bit holds against nobody who sees another bit of the same "
    "tensor."
)
SEARCHED = (
    "Hyper-parameters were chosen among {} candidates by their accuracy on private data; no ε here pays "
    "for the search: see docs/accounting.md, tuning is not free."
)
# What each word of an accounting means.
ACCOUNTINGS = {
    "sequential": "an example is sampled with its share of all clients' examples; all clients' costs add up",
    "parallel": "an example is sampled with its share of its client's examples; the costliest client counts",
    "sum": "against who sees only the sum of the uploads, as behind secure aggregation",
    "sized": "against who sees only a sum or mean, and knows of how many clients it is",
    "upload": "against who sees every upload, such as a server without secure aggregation",
    "drawn": "the same, of a client who uploads only when it is sampled",
}
FLIPS = {
    "coordinate": "flips per weight, as the paper defines them",
    "tensor": "flips per tensor, as in the authors' code",
}
# Words of a ledger, as prose has them.
LEVELS = {"client": "client-level", "instance": "example-level"}
RELATIONS = {"add_remove": "add-or-remove", "replace_one": "replace-one", "zero_out": "zero-out"}
LAWS = {
    "poisson": "Poisson sampling",
    "fixed": "sampling without replacement",
    "full": "full participation",
}
NORMALISATION = {
    "shared": "batch normalisation sent in the clear",
    "local": "batch normalisation that stays at its client",
    "none": "no batch normalisation",
}


def unique(frame: pd.DataFrame, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the distinct rows of some columns, in order of appearance."""
    return list(frame.filter(list(columns)).drop_duplicates().itertuples(index=False, name=None))


def stand_ins(frame: pd.DataFrame) -> str:
    """Return what a title must add where substitute data were used."""
    found = replaced(frame)
    return f" [{', '.join(found)}]" if found else ""


def replaced(frame: pd.DataFrame) -> list[str]:
    """Return which data were used instead of the paper's."""
    told = unique(frame, ("data", "stand_in_for"))
    return [f"{name} in place of {wanted}" for name, wanted in told if wanted]


def footnotes(frame: pd.DataFrame, missing: Iterable[str] = ()) -> list[str]:
    """Return the facts behind the runs in `frame`, a sentence each; `missing` are runs that were not run."""
    rounds = frame.drop_duplicates(["run", "seed", "round"])  # whichever way its ε is counted
    parts = (data, models, seeds, ended, settings, unbounded, instances, responses, noises, evaluations)
    notes = [note for part in (*parts, secured) for note in part(rounds)]
    notes += [*accounting(frame), *machines(rounds)]
    names = sorted(set(missing))
    return notes + ([f"Not run in this preset: {', '.join(names)}."] if names else [])


def configs(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the distinct configs of the runs."""
    return [json.loads(config) for config in frame["config"].unique()]


def data(frame: pd.DataFrame) -> list[str]:
    """Name the data, those they substitute, and the split that was evaluated."""
    notes = []
    columns = ("data", "stand_in_for", "train_examples", "test_examples", "evaluated_on", "data_note")
    for name, wanted, train, test, split, made in unique(frame, columns):
        stands = f", substitute data for {wanted}" if wanted else ""
        how = f" {made.removesuffix('.')}." if made else ""
        notes.append(
            f"Data: {name}{stands}; {train:,} training examples, accuracy on {test:,} {split} examples.{how}"
        )
    return notes


def models(frame: pd.DataFrame) -> Iterator[str]:
    """Name the models that were trained, with their sizes."""
    trained = unique(frame, ("config", "parameters"))
    found = {(json.dumps(json.loads(config)["model"]), parameters) for config, parameters in trained}
    for described, parameters in sorted(found):
        model = json.loads(described)
        options = [f"{key} {plain(value)}" for key, value in model.items() if key != "name"]
        yield f"Model: {', '.join([model['name'], *options])}; {parameters:,} parameters."


def plain(value: Any) -> str:
    """Return a config value as a reader would write it: a list with dashes."""
    return "-".join(map(str, value)) if isinstance(value, list) else str(value)


def seeds(frame: pd.DataFrame) -> Iterator[str]:
    """Say how many seeds there are and what the intervals mean."""
    counts = frame.groupby("run", observed=True)["seed"].nunique()
    if len(counts):
        found = " to ".join(map(str, sorted({counts.min(), counts.max()})))
        alone = "; one seed has no interval" if counts.min() == 1 else ""
        yield f"Seeds a run: {found}; {METHOD}{alone}. Published numbers are single runs."


def ended(frame: pd.DataFrame) -> Iterator[str]:
    """Say which runs have diverged, and when."""
    gone = unique(frame.loc[frame["diverged"] > 0], ("run", "seed", "diverged"))
    if found := [f"{run} seed {seed} after round {round:,}" for run, seed, round in gone]:
        yield f"Diverged, their weights no longer finite: {'; '.join(found)}."


def secured(frame: pd.DataFrame) -> Iterator[str]:
    """Say which noise never comes again."""
    told = unique(frame, ("run", "config"))
    if runs := [run for run, config in told if json.loads(config).get("secure_noise")]:
        yield f"Noise, flips and samples from the operating system: {', '.join(runs)}."


def by_population(
    frame: pd.DataFrame, columns: Sequence[str], say: Callable[[pd.DataFrame], str]
) -> Iterator[str]:
    """Yield what `say` tells of every population's rows that agree in `columns`; the same is told once."""
    found: dict[str, list[str]] = {}
    several_data = frame["data"].nunique() > 1
    for (data, population, *_), some in groups(frame, ("data", "population", *columns)):
        found.setdefault(say(some), []).append(f"{f'{data}, ' if several_data else ''}N = {population:,}")
    yield from ("; ".join(places) + said for said, places in found.items())


def groups(frame: pd.DataFrame, columns: Sequence[str]) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Yield the distinct rows of some columns, in order, each with the rows of the frame."""
    yield from frame.groupby(list(columns), observed=True)


def settings(frame: pd.DataFrame) -> Iterator[str]:
    """Say for every population how clients were sampled, how much noise there was, how often data repeat."""

    def said(some: pd.DataFrame) -> str:
        first, noisy = some.iloc[0], some.loc[some["noise_multiplier"] > 0]
        sigmas, clips = several(noisy["noise_multiplier"]), several(noisy["clip_l2"])
        counts = several(noisy.loc[noisy["count_noise_multiplier"] < np.inf, "count_noise_multiplier"])
        noise = f"; σ = {sigmas}, C = {clips}" * bool(sigmas) + f", of counts σ = {counts}" * bool(counts)
        often, wanted = first["repetition"], f"{first['rounds_wanted']:,} rounds"
        repeated = f"an example is at {often:.3g} clients" if often > 1 else "no example is repeated"
        sampled = f"{LAWS[first['cohort_law']]}, rate {first['sampling_rate']:g}"
        done = some.loc[some["diverged"] == 0].groupby(["run", "seed"], observed=True)["round"].max()
        if len(stopped := done[done < first["rounds_wanted"]]):
            wanted += f" at most, of which a budget allowed {several(stopped)}"
        return f": {sampled}{noise}; {wanted}; {repeated}."

    return by_population(frame, ("cohort_law", "sampling_rate", "repetition", "rounds_wanted"), said)


def unbounded(frame: pd.DataFrame) -> Iterator[str]:
    """Say in which runs there is noise on a sum of which nothing bounds a client's part."""
    bare = frame.loc[nothing_bounded(frame)]
    if runs := sorted(set(bare["run"])):
        yield (
            f"Nothing bounds what a client adds to the sum in {', '.join(runs)} (clipping of the authors' "
            f"code: small updates are scaled up, large ones pass). Noise of std {several(bare['noise_std'])} "
            "on it hides nobody: no ε holds."
        )


def instances(frame: pd.DataFrame) -> Iterator[str]:
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

    noisy = frame.loc[frame["instance_noise_multiplier"] > 0]
    yield from by_population(noisy, ["per_example_clip"], said)
    made = configs(noisy.loc[noisy["data_note"] != ""])
    if copies := {config.get("photos", {}).get("copies", 1) for config in made} - {1}:
        yield f"An example-level ε is for one augmented copy; an image has {several(copies)}."


def responses(frame: pd.DataFrame) -> Iterator[str]:
    """Say how clients flipped bits, what else they sent, and how much of the broadcast they took over."""
    found: dict[str, list[float]] = {}
    for (gamma, flips, config), some in groups(
        frame.loc[frame["noisy_bits"] > 0], ("gamma", "flips", "config")
    ):
        read, clear = json.loads(config), int(some["clear_values"].max())
        gain = read["scheme"].get("gain", 1)
        words = [
            FLIPS[flips],
            f"{int(some['noisy_bits'].max()):,} bits an upload",
            NORMALISATION[read["model"].get("bn", "none")] + (f" ({clear:,} numbers)" if clear else ""),
            f"β = {read['local'].get('mixing', 1):g}",
            "the mean divided by 2γ" if read["scheme"].get("debias") else "",
            f"the mean times {gain:g}" if gain != 1 else "",
        ]
        found.setdefault("; ".join(filter(None, words)), []).append(gamma)
    yield from (f"Randomised response, γ = {several(gammas)}: {words}." for words, gammas in found.items())


def noises(frame: pd.DataFrame) -> list[str]:
    """Say how much noise was on uploads and before broadcasts, and what bounds an upload beneath it."""
    noisy = frame.loc[(frame["upload_noise_std"] > 0) | (frame["broadcast_noise_std"] > 0)]
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


def evaluations(frame: pd.DataFrame) -> Iterator[str]:
    """Say whose weights were evaluated, where it was not the server's."""
    found = (config.get("evaluation", {}) for config in configs(frame))
    ways = dict.fromkeys((how["stride"], how["drawn"]) for how in found if how.get("models") == "clients")
    for stride, drawn in ways:
        part = f"; on one of {stride} test examples" if stride > 1 else ""
        yield (
            "Accuracy is the mean over all clients' own weights, which they have after a broadcast"
            f"{part}. Sampled: {drawn} clients, with replacement."
        )


def accounting(frame: pd.DataFrame) -> list[str]:
    """Say which ε are not what they seem."""
    counted = frame.loc[(frame["accountant"] != "") & (frame["unit"] != "none")]
    notes = [ESTIMATE] if "estimate" in set(counted["kind"]) else []
    unmet = counted.loc[~counted["assumptions_met"]]
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


def machines(frame: pd.DataFrame) -> list[str]:
    """Name hardware and engine, and say how long the rounds took."""
    return [
        f"Computed on {hardware} by {engine}: {some['seconds'].sum() / 60:,.0f} minutes of training in all; "
        f"results version {version}."
        for (hardware, engine, version), some in groups(frame, ("hardware", "engine", "results_version"))
    ]
