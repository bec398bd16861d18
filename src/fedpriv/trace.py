"""What training writes down, one row a round: the columns of trace.parquet. It never contains ε."""

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from fedpriv.registry import Registry

Unit = Literal["client", "instance", "both", "none"]
Relation = Literal["add_remove", "replace_one"]
Mechanism = str  # one of `MECHANISMS`
Facts = dict[str, Any]  # columns of one row that a verb fills in

# What those schemes released whose traces are older than this column.
NOISY = ("client_dp", "global_dp", "instance", "joint", "split", "nbafl")
BEFORE_MECHANISM = dict.fromkeys(NOISY, "gaussian") | {"none": "none", "dpfl_bnn": "randomized_response"}

# Of a client's update, for the Bayesian accountant (`fedpriv.mechanisms.gaussian`) -> the most that it can
# be, in units of the bound. All are for clients that are taken away.
DISTANCES = {"remove_sum": 1.0, "remove_mean": 2.0}
UNREAD = "pairwise"  # that of pairs, which older runs measured as well; nothing is counted from it


def is_read(name: str) -> bool:
    """Return True where anything reads an array of this name among the sampled distances of a run."""
    return not name.endswith(UNREAD)


class TraceColumn(NamedTuple):
    """A column: its dtype, what it says, and what it says of a scheme that does not fill it in."""

    dtype: str
    meaning: str
    default: Any = None  # None: the loop fills it in
    later: bool = False  # traces of older versions lack it


class Released(NamedTuple):
    """What is released by a mechanism, and the columns that it alone has: what its accountants must know."""

    meaning: str
    columns: Mapping[str, TraceColumn] = {}  # each with a default
    independent: bool = True  # noise, from release to release


# What a scheme can say that it released; who does not say has no guarantee.
MECHANISMS: Registry[Released] = Registry(
    "mechanisms",
    Released,
    {
        "none": Released("nothing with noise in it"),
        "gaussian": Released("bounded parts with Gaussian noise that is independent from release to release"),
        "randomized_response": Released("bits, each flipped by itself or with its tensor"),
        "other": Released("none of these, or not said"),
    },
)


class Evaluated(NamedTuple):
    """A number that is measured where a model is evaluated: column `test_<name>` of the trace."""

    meaning: str
    label: str  # in tables, figures and captions
    losses: tuple[str, ...]  # of the suite, with which a run may ask for it
    digits: int | None = None  # after the point; None: a fraction, printed in percent
    less: bool = False  # is better


CLASSES = ("cross_entropy", "binary_cross_entropy")
# A new one is a line here and a function in `fedpriv.train.evaluate`. Accuracy is measured in every run.
EVALUATED = {
    "accuracy": Evaluated("accuracy after the round; NaN where it was not evaluated", "accuracy", CLASSES),
    "perplexity": Evaluated(
        "exp of the mean cross-entropy there; NaN, as in the next five, if not asked for",
        "perplexity",
        ("cross_entropy",),
        digits=2,
        less=True,
    ),
    "auroc": Evaluated("area under the ROC curve, the mean over classes", "AUROC", CLASSES),
    "f1": Evaluated("F1 score, the mean over classes", "F1", CLASSES),
    "error": Evaluated(
        "mean absolute error of predicted numbers",
        "mean absolute error",
        ("mean_squared_error",),
        digits=3,
        less=True,
    ),
    "worst_owner": Evaluated(
        "accuracy of the owner of test examples who has the least", "least accuracy of an owner", CLASSES
    ),
    "owner_std": Evaluated(
        "std of accuracy over these owners", "std of accuracy over owners", CLASSES, less=True
    ),
}
ASKED = tuple(name for name in EVALUATED if name != "accuracy")  # where `evaluation.metrics` says so

COLUMNS = {
    "round": TraceColumn("int64", "1, 2, ..."),
    "scheme": TraceColumn("str", "what was run"),
    "mechanism": TraceColumn("str", "what the scheme says that it released (`MECHANISMS`)", "", later=True),
    "unit": TraceColumn("str", "whom it protects: `client`, `instance` (an example), `both`, `none`"),
    "relation": TraceColumn("str", "what neighbours are: add_remove, replace_one"),
    "sampling_law": TraceColumn(
        "str", "how clients were sampled: poisson, fixed, full, or a law of a package"
    ),
    "population": TraceColumn("int64", "clients in all"),
    "expected_cohort": TraceColumn("float64", "clients expected in a cohort: the public denominator"),
    "sampling_rate": TraceColumn("float64", "share of the population expected in a cohort"),
    "cohort_size": TraceColumn("int64", "clients that came"),
    "clip_l2": TraceColumn("float64", "bound of one client's part of the sum", math.inf),
    "denominator": TraceColumn(
        "str", "what a sum is divided by: expected, present clients", "expected", later=True
    ),
    "share_clipped": TraceColumn("float64", "share of the cohort, or of gradients, that the bound cut", 0.0),
    "not_finite": TraceColumn("int64", "updates that were no numbers and counted as zero", 0),
    "clip_private": TraceColumn("bool", "whether the bound was taken from private data", False),
    "noise_multiplier": TraceColumn("float64", "std of the server's noise over the bound", 0.0),
    "noise_std": TraceColumn("float64", "std of the server's noise on the sum", 0.0),
    "count_noise_multiplier": TraceColumn(
        "float64",
        "std of the noise on the count of clients within the bound, over what a client moves it by; "
        "∞: nobody counted",
        math.inf,
        later=True,
    ),
    "local_steps": TraceColumn("int64", "noisy gradients that a client computed", 0, later=True),
    "rate_sequential": TraceColumn(
        "float64", "sampling rate of an example among those of all clients", 0.0, later=True
    ),
    "rate_parallel": TraceColumn(
        "float64", "sampling rate of an example among those of its client", 0.0, later=True
    ),
    "per_example_clip": TraceColumn(
        "bool", "whether every example's gradient was clipped", False, later=True
    ),
    "instance_clip_l2": TraceColumn(
        "float64", "bound of one example's part of the mean of a batch", math.inf, later=True
    ),
    "instance_noise_multiplier": TraceColumn(
        "float64", "std of a client's noise over that bound", 0.0, later=True
    ),
    "instance_noise_std": TraceColumn(
        "float64", "std of a client's noise on the mean of a batch", 0.0, later=True
    ),
    "statistics_releases": TraceColumn(
        "int64",
        "noisy statistics of all examples that were released before the round's gradients",
        0,
        later=True,
    ),
    "statistics_noise_multiplier": TraceColumn(
        "float64", "std of the noise on each over one example's part; ∞: there are none", math.inf, later=True
    ),
    "noise_shares": TraceColumn("int64", "how many clients' noise counts towards a client", 0, later=True),
    "topped_up": TraceColumn(
        "bool", "whether the server tops the noise of a sum up to so many shares", False, later=True
    ),
    "noise_in_sum": TraceColumn(
        "bool",
        "whether clients' own noise is in the sum, so that its level tells how many came",
        False,
        later=True,
    ),
    "noise_clipped": TraceColumn(
        "bool", "whether uploads were clipped with the noise of local training in them", False, later=True
    ),
    "holders": TraceColumn(
        "int64",
        "clients that hold the same example, at most; 0: not known, or one holds it twice",
        0,
        later=True,
    ),
    "gamma": TraceColumn(
        "float64", "randomised response: a bit is kept with probability 1/2 + γ", 0.5, later=True
    ),
    "flips": TraceColumn(
        "str", "what is flipped by itself: coordinate, tensor; empty: nothing", "", later=True
    ),
    "noisy_bits": TraceColumn("int64", "bits of an upload that are flipped at random", 0, later=True),
    "share_flipped": TraceColumn("float64", "share of them that were flipped", 0.0, later=True),
    "upload_l2": TraceColumn("float64", "bound beneath the noise on an upload", math.inf, later=True),
    "upload_noise_std": TraceColumn("float64", "std of the noise on an upload", 0.0, later=True),
    "upload_noise_least": TraceColumn(
        "float64",
        "the least such std of any client of the population, whether it came or not; NaN: not known",
        math.nan,
        later=True,
    ),
    "uploads_apart": TraceColumn(
        "float64",
        "L2 distance of two of a round's uploads far from each other, beneath their noise; 0: not measured",
        0.0,
        later=True,
    ),
    "neighbours_apart": TraceColumn(
        "float64",
        "the same of a client's upload and the one it sends with one example replaced; 0: not measured, or "
        "it did not come",
        0.0,
        later=True,
    ),
    "broadcast_noise_std": TraceColumn(
        "float64", "std of the noise on what the server sends", 0.0, later=True
    ),
    "clear_values": TraceColumn("int64", "numbers of an upload that are sent in the clear", 0, later=True),
    "upload_bytes": TraceColumn("float64", "size of an upload", later=True),
    "norm_min": TraceColumn("float64", "smallest norm of the cohort's updates before they are bounded"),
    "norm_median": TraceColumn("float64", "their median norm"),
    "norm_max": TraceColumn("float64", "their largest norm"),
    "server_learning_rate": TraceColumn("float64", "the server's rate"),
    "train_loss": TraceColumn("float64", "mean loss of the cohort"),
    "test_accuracy": TraceColumn("float64", EVALUATED["accuracy"].meaning),
    "test_accuracy_drawn": TraceColumn("float64", "that of some sampled clients' own weights", later=True),
    "test_loss": TraceColumn("float64", "mean loss on the test split"),
    **{
        f"test_{name}": TraceColumn("float64", EVALUATED[name].meaning, math.nan, later=True)
        for name in ASKED
    },
    "seconds": TraceColumn("float64", "time the round took: measured, never the same twice"),
    "peak_mib": TraceColumn("float64", "largest memory so far: measured"),
}
MEASURED = ("seconds", "peak_mib")  # differ between two runs that are otherwise bit-identical

# How clients get into a release, as our accountants know it; `seen`: drawn at random, and whoever looks sees
# who was. Of any other law nobody is taken for sampled: clients come in turn, as often as their trace says,
# and who is taken out leaves its place empty.
SAMPLED = ("poisson", "fixed", "full", "seen")
# Of cohorts by other laws, too: how often who comes.
PARTICIPATION = {
    "participations": TraceColumn("int64", "rounds that one client is in, at most; 0: not known", 0),
    "rounds_apart": TraceColumn("int64", "how many rounds lie from one of them to the next, at least", 1),
}

TRACE = {name: column.dtype for name, column in COLUMNS.items()}  # of every trace; more by `columns_of`
NO_FACTS: Facts = {name: column.default for name, column in COLUMNS.items() if column.default is not None}
# What an older trace would say in the columns it lacks: no noise there, and nothing measured.
MISSING = {
    name: math.nan if column.default is None else column.default
    for name, column in COLUMNS.items()
    if column.later
}


def own_columns(mechanism: str) -> dict[str, TraceColumn]:
    """Return the columns that not every trace has: of this mechanism, after those of clients in turn."""
    return {**PARTICIPATION, **(MECHANISMS[mechanism].columns if mechanism in MECHANISMS else {})}


def columns_of(mechanism: str, law: str) -> dict[str, TraceColumn]:
    """Return the columns of the trace of a run, by what it released and how its clients were sampled."""
    own = own_columns(mechanism)
    left_out = PARTICIPATION if law in SAMPLED else ()
    return COLUMNS | {name: column for name, column in own.items() if name not in left_out}
