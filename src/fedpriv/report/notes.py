"""What stands under every table and figure: data, models, seeds, hardware, which ε hold, what was not run."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from fedpriv.account import statement
from fedpriv.account.check import nothing_bounded
from fedpriv.mechanisms.sampling import COHORTS
from fedpriv.paper.epsilons import EpsilonSelector
from fedpriv.paper.tables import TableSpec, full_title
from fedpriv.report import numbers
from fedpriv.report.lines import Line, tidy
from fedpriv.report.numbers import METHOD, few_numbers
from fedpriv.report.render import PrintedTable
from fedpriv.report.results import Results, rows_of

ESTIMATE = "A Bayesian ε is an estimate, never a guarantee: see docs/guarantees.md."
# The assumption that fails, as a ledger names it -> what that means for the ε.
VIOLATIONS = {
    statement.PRIVATE_NORM: (
        "The bound of the sum was taken from private data (the median of the clients' norms) without noise: "
        "an ε that leaves out what it reveals is no guarantee."
    ),
    statement.FIXED: (
        "Sampling mismatch: clients were not sampled as the accountants assume; no ε here is a guarantee."
    ),
    statement.LEAST_UNKNOWN: (
        "The noise of clients that were not sampled is not known: no ε of accounting drawn is a guarantee."
    ),
    statement.SIZE_SEEN: (
        "Sampling mismatch: where the noise or the denominator of a sum tells how many clients came, "
        "sampling hides one only among those who might have come instead; an ε by Poisson sampling is no "
        "guarantee there."
    ),
    statement.OTHER_DENOMINATOR: (
        "An estimate is of the denominator that was used: remove_sum of a public number, remove_mean of "
        "those present."
    ),
    statement.SAME_FLIPS: (
        "Where whole tensors are flipped, an ε of one bit holds against nobody who sees another bit of the "
        "same tensor."
    ),
    statement.SAME_CLIENT: (
        "Sequential accounting supposes that nobody knows which client holds an example, and that examples "
        "are dealt anew for every step. Here they stay where they are, so no sequential ε is a guarantee."
    ),
    statement.MEAN_CLIPPED: (
        "Where only the mean of a batch was clipped, an example-level ε at sensitivity C is what the paper "
        "claims. It is not a guarantee: that clipping certifies 2C."
    ),
}
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
# Words of a ledger, as prose has them.
LEVELS = {"client": "client-level", "instance": "example-level"}
RELATIONS = {"add_remove": "add-or-remove", "replace_one": "replace-one", "zero_out": "zero-out"}
LAWS = {name: law.words for name, law in COHORTS.items()}


def meaning_text(line: Mapping[str, Any]) -> str:
    """Return for whom and against whom an ε holds, under which sampling law, at which δ, and its status."""
    words = [LEVELS.get(line["unit"], line["unit"]), f"{RELATIONS[line['relation']]} neighbours"]
    words += [LAWS[line["sampling_law"]]] if line["sampling_law"] in LAWS else []
    words += [f"δ = {numbers.delta(line['delta'])}"] if "delta" in line else []
    return f"{', '.join(words)}; {line['epsilon_status']}"


def unique(frame: pd.DataFrame, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the distinct rows of these columns, in order of appearance."""
    return list(frame.filter(list(columns)).drop_duplicates().itertuples(index=False, name=None))


def substitutes_title(runs: pd.DataFrame) -> str:
    """Words that a title adds where substitute data were used."""
    data = substitutes(runs)
    return f" [{', '.join(data)}]" if data else ""


def substitutes(runs: pd.DataFrame) -> list[str]:
    """Return the data that were used instead of the paper's."""
    pairs = unique(runs, ("data", "substitute_for"))
    return [f"{name} in place of {original}" for name, original in pairs if original]


def footnotes(results: Results, intervals: bool = True) -> list[str]:
    """Return the notes on what the runs in `results` rest on, a sentence each; and what `intervals` are."""
    runs, rounds = results.runs, results.rounds
    if runs.empty:
        return []
    return [
        f"Data: {data_names(runs)}.",
        models_note(runs),
        *seeds_notes(runs, intervals),
        *evaluation_notes(runs),
        *noise_notes(runs, rounds),
        *epsilon_notes(results.epsilons),
        machines_note(runs, rounds),
    ]


def models_note(runs: pd.DataFrame) -> str:
    """Return the note on models, with their options and sizes."""
    models = {}
    for config, parameters in unique(runs, ("config", "parameters")):
        model = json.loads(config)["model"]
        options = [
            f"{key} {'-'.join(map(str, value)) if isinstance(value, list) else value}"
            for key, value in model.items()
            if key != "name"
        ]
        name = f"{', '.join([model['name'], *options])} ({parameters:,} parameters)"
        models[json.dumps(model), parameters] = name
    return f"Model{'s' * (len(models) > 1)}: {'; '.join(models[key] for key in sorted(models))}."


def seeds_notes(runs: pd.DataFrame, intervals: bool) -> Iterator[str]:
    """Yield how many seeds there are, what their intervals mean, and which came to nothing."""
    seeds = runs.groupby("run", observed=True)["seed"].nunique()
    clauses = [f"Seeds a run: {' to '.join(map(str, sorted({seeds.min(), seeds.max()})))}"]
    if intervals:
        clauses += [METHOD, "one seed has no interval"] if seeds.min() == 1 else [METHOD]
    yield f"{'; '.join(clauses)}. Published numbers are single runs."
    diverged = unique(runs.loc[runs["diverged"] > 0], ("run", "seed", "diverged"))
    if ends := [f"{run} seed {seed} after round {last:,}" for run, seed, last in diverged]:
        yield f"Diverged, their weights no longer finite: {'; '.join(ends)}."


def evaluation_notes(runs: pd.DataFrame) -> Iterator[str]:
    """Yield whose weights were evaluated, where it was not the server's."""
    evaluations = [json.loads(config).get("evaluation", {}) for config in runs["config"].unique()]
    clients = [evaluation for evaluation in evaluations if evaluation.get("models") == "clients"]
    pairs = [(evaluation["stride"], evaluation["drawn"]) for evaluation in clients]
    for stride, drawn in dict.fromkeys(pairs):
        part = f"; on one of {stride} test examples" if stride > 1 else ""
        yield (
            "Accuracy is the mean over all clients' own weights, which they have after a broadcast"
            f"{part}. Sampled: {drawn} clients, with replacement."
        )


def noise_notes(runs: pd.DataFrame, rounds: pd.DataFrame) -> Iterator[str]:
    """Yield what an example-level ε is of, and of noise that hides nobody."""
    noisy = rows_of(runs, *rounds.loc[rounds["instance_noise_multiplier"] > 0, "run"].unique())["config"]
    if copies := {json.loads(config).get("photos", {}).get("copies", 1) for config in noisy} - {1}:
        yield f"An example-level ε is for one augmented copy; an image has {few_numbers(copies)}."
    bare = rounds.loc[nothing_bounded(rounds)]
    if names := sorted(set(bare["run"])):
        yield (
            f"Nothing bounds what a client adds to the sum in {', '.join(names)} (clipping of the authors' "
            "code: small updates are scaled up, large ones pass). Noise of std "
            f"{few_numbers(bare['noise_std'])} on it hides nobody: no ε holds."
        )


def epsilon_notes(epsilons: pd.DataFrame) -> Iterator[str]:
    """Yield which ε are not what they seem."""
    counted = epsilons.loc[epsilons["unit"] != "none"]
    if "estimate" in set(counted["kind"]):
        yield ESTIMATE
    failing = set(counted["violation"])
    yield from (meaning for violation, meaning in VIOLATIONS.items() if violation in failing)


def machines_note(runs: pd.DataFrame, rounds: pd.DataFrame) -> str:
    """Return the note on hardware and time."""
    machines = unique(runs, ("hardware", "results_version"))
    hardware = "; ".join(f"{name}, results version {version}" for name, version in machines)
    took = minutes(rounds["seconds"].sum())
    return f"Trained in {took} on {hardware}. What each run was set to: runs.md."


def preset_notes(runs: pd.DataFrame, missing: Iterable[str]) -> list[str]:
    """List the omissions of a preset: parts of the runs that it has, and the runs `missing`."""
    cut = [f"{run} ({less})" for run, less in unique(runs, ("run", "cut")) if less]
    names = list(dict.fromkeys(missing))
    notes = [f"Cut by the preset, so that nothing published is judged: {'; '.join(cut)}."] if cut else []
    return notes + ([f"Not run in this preset: {'; '.join(names)}."] if names else [])


def data_names(runs: pd.DataFrame) -> str:
    """Names of the data, and what they stand in for."""
    return "; ".join(
        name + (f", substitute data for {original}" if original else "")
        for name, original in unique(runs, ("data", "substitute_for"))
    )


def minutes(seconds: float) -> str:
    """Return a time in minutes, in words."""
    text = f"{seconds / 60:,.0f}"
    return f"{text} minute{'' if text == '1' else 's'}"


def accountings(selectors: Iterable[EpsilonSelector]) -> list[str]:
    """Say what the accountings among `selectors` mean."""
    words = {selector.accounting for selector in selectors}
    return [f"{word}: {meaning}." for word, meaning in ACCOUNTINGS.items() if word in words]


def printed_table(
    results: Results,
    declared: TableSpec,
    name: str,
    *,
    columns: list[str],
    lines: Iterable[Line],
    display: Sequence[Mapping[str, str]],
    notes: Sequence[str],
    details: Iterable[str],
) -> PrintedTable:
    """Return a table of its `lines` for machines and of `display` for people.

    What its runs rest on, and which were not run, stands after the `details` of its own.
    """
    runs = dict.fromkeys(declared.runs())
    used, missing = results.of(*runs), [run for run in runs if not results.has(run)]
    title = full_title(declared) + substitutes_title(used.runs)
    rests_on = [*details, *footnotes(used), *preset_notes(used.runs, missing)]
    return PrintedTable(
        name, title, tidy(name, columns, lines), pd.DataFrame(display), notes, details=rests_on
    )
