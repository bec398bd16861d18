"""The names of what can be read of a run, which columns of tables, checks and captions share.

`fedpriv.report.metrics` reads each of them; a new number is a line here and a function there. This file is
free of pandas, so that a misspelt name is an error before anything is computed.
"""

from typing import NamedTuple

from fedpriv.paper.spends import MEASURES

RUN = "run"  # what the one private run of a row is called, and by default the one run of a case
# What a name must stand for in a row of a table; in a case each stands for a run.
COLUMN, PRIVATE, PRINTED = "column", "column with a private run", "column with a published accuracy"
COUNTED = "column read within one ε"
# What may follow the names: each as a line of arithmetic has it.
SPEND, MEASURE, AUDIT, NUMBER, VALUE = '"moments C"', '"best_drawn"', '"outlier"', "1.0", "VALUE"
# What a number depends on: not on data; on data; or it is an accuracy, which guessing has as well.
ACCOUNT, DATA, ACCURACY = "account", "data", "accuracy"


class Signature(NamedTuple):
    """How a number is asked for: what its names stand for, what follows them, and what it is."""

    names: tuple[str, ...]
    arguments: tuple[str, ...]  # the last one may be left out if it is a measure
    meaning: str
    about: str = ACCOUNT
    several: bool = False  # more names of the last kind may follow, and each is a comparison


SIGNATURES = {
    "accuracy": Signature(
        (COLUMN,),
        (MEASURE,),
        "the accuracy of a column, read as the table reads it; of a run, at the last round over all clients, "
        'or by "best_drawn" that of sampled clients at the best round, which the test split chooses; 0 where '
        "no round is affordable",
        ACCURACY,
    ),
    "accuracy_within": Signature(
        (PRIVATE,),
        (NUMBER, SPEND),
        "the accuracy at the last evaluated round before that ε first exceeds the number; 0 where every one "
        "does",
        DATA,
    ),
    "published": Signature((PRINTED,), (), "the published accuracy of a column", DATA),
    "perplexity": Signature((COLUMN,), (), "the perplexity, read where the accuracy is", DATA),
    "auroc": Signature((COLUMN,), (), "the area under the ROC curve, a fraction, read likewise", DATA),
    "f1": Signature((COLUMN,), (), "the F1 score, a fraction, read likewise", DATA),
    "error": Signature((COLUMN,), (), "the mean absolute error, read likewise", DATA),
    "lead": Signature(
        (COLUMN, COLUMN),
        (MEASURE,),
        "how much more accurate the first is than each of the others: a comparison with each",
        ACCURACY,
        several=True,
    ),
    "rise": Signature(
        (COLUMN, COLUMN),
        (MEASURE,),
        "how much more accurate each is than the one before it: a comparison a step",
        ACCURACY,
        several=True,
    ),
    "round": Signature((COLUMN,), (), "the round at which the accuracy is read", DATA),
    "rounds": Signature(
        (COLUMN,),
        (VALUE,),
        "the first evaluated round that is at least so accurate; ∞ where none is",
        ACCURACY,
    ),
    "epsilon": Signature((PRIVATE,), (SPEND,), "an ε at the last round"),
    "spent": Signature((COUNTED,), (), "the ε of a column at the last round, as the column counts it"),
    "delta": Signature((PRIVATE,), (SPEND,), "the δ at which an ε is counted"),
    "growth": Signature((PRIVATE,), (SPEND,), "by how much an ε grows after the first round"),
    "lower_bound": Signature(
        (PRIVATE,), (AUDIT, SPEND), "the lower bound of an audit under an ε, at the last round", DATA
    ),
    "gamma": Signature((COLUMN,), (), "γ of randomised response, mean over rounds"),
    "share_flipped": Signature((COLUMN,), (), "the share of bits that were flipped, mean over rounds"),
    "numbers_sent": Signature((COLUMN,), (), "how many numbers a client sends a round"),
    "clear_values": Signature((COLUMN,), (), "how many of them without any noise"),
    "upload_bytes": Signature((COLUMN,), (), "how many bytes a client sends a round"),
    "float32_bytes": Signature((COLUMN,), (), "how many bytes the numbers that it sends are in float32"),
    "times_smaller": Signature((COLUMN,), (), "how many times fewer bytes it sends than that"),
    "upload_noise_std": Signature((COLUMN,), (), "the least std of the noise on an upload, mean over rounds"),
    "broadcast_noise_std": Signature((COLUMN,), (), "the std of the noise on a broadcast, mean over rounds"),
    "abs": Signature(
        (), (VALUE,), "a difference, whichever is larger: two comparisons, that neither is larger by so much"
    ),
}

NEEDS = {SPEND: "spend", NUMBER: "within"}  # what a column of a table says of an argument
# What may be a column of a table of runs -> what it must say beside its name, in the order of arguments.
COLUMNS: dict[str, list[str]] = {
    **{f"{of}_{measure}": [] for of in ("accuracy", "gain") for measure in MEASURES},
    **{
        name: [NEEDS[one] for one in signature.arguments]
        for name, signature in SIGNATURES.items()
        if signature.names in ((COLUMN,), (PRIVATE,)) and {*signature.arguments} <= {*NEEDS}
    },
}


def signature_text(name: str) -> str:
    """Signature of a function, as its documentation has it."""
    names, arguments, *_, several = SIGNATURES[name]
    return f"{name}({', '.join([*['NAME'] * len(names), *['...'] * several, *arguments])})"
