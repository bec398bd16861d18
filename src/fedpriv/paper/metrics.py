"""The names of what can be read of a run, which columns of tables, checks and captions share.

`fedpriv.report.metrics` reads each of them; a new number is a line here and a function there. This file is
free of pandas, so that a misspelt name is an error before anything is computed.
"""

from typing import NamedTuple

from fedpriv.paper.epsilons import MEASURES
from fedpriv.trace import ASKED

RUN = "run"  # what the one private run of a row is called, and by default the one run of a case
# What a name must stand for in a row of a table; in a case each stands for a run.
COLUMN, PRIVATE, PRINTED = "column", "column with a private run", "column with a published number"
COUNTED = "column read within one ε"
# What may follow the names: each as a line of arithmetic has it.
ACCOUNTANT, MEASURE, AUDIT, NUMBER, VALUE = '"moments C"', '"best_drawn"', '"outlier"', "1.0", "VALUE"
# What a number depends on: not on data; on data; or it is an accuracy, which guessing has as well.
ACCOUNT, DATA, ACCURACY = "account", "data", "accuracy"


class Signature(NamedTuple):
    """How a number is asked for: what its names stand for, what follows them, and what it depends on."""

    names: tuple[str, ...]
    arguments: tuple[str, ...] = ()  # the last one may be left out if it is a measure
    about: str = ACCOUNT
    several: bool = False  # more names of the last kind may follow, and each is a comparison


OF_RUN = Signature((COLUMN,))  # the same whatever the accuracy is
MEASURED = Signature((COLUMN,), (), DATA)  # read where the accuracy is
# What each of them is says docs/add-a-paper.md.
SIGNATURES = {
    "accuracy": Signature((COLUMN,), (MEASURE,), ACCURACY),
    "accuracy_within": Signature((PRIVATE,), (NUMBER, ACCOUNTANT), DATA),
    "published": Signature((PRINTED,), (), DATA),
    **dict.fromkeys(ASKED, MEASURED),
    "lead": Signature((COLUMN, COLUMN), (MEASURE,), ACCURACY, several=True),
    "rise": Signature((COLUMN, COLUMN), (MEASURE,), ACCURACY, several=True),
    "round": MEASURED,
    "rounds": Signature((COLUMN,), (VALUE,), ACCURACY),
    "epsilon": Signature((PRIVATE,), (ACCOUNTANT,)),
    "spent": Signature((COUNTED,)),
    "delta": Signature((PRIVATE,), (ACCOUNTANT,)),
    "growth": Signature((PRIVATE,), (ACCOUNTANT,)),
    "lower_bound": Signature((PRIVATE,), (AUDIT, ACCOUNTANT), DATA),
    **dict.fromkeys(("gamma", "share_flipped"), OF_RUN),
    **dict.fromkeys(
        ("numbers_sent", "clear_values", "upload_bytes", "float32_bytes", "times_smaller"), OF_RUN
    ),
    **dict.fromkeys(("upload_noise_std", "broadcast_noise_std"), OF_RUN),
    "abs": Signature((), (VALUE,)),
    "attacker": Signature((), (VALUE,)),
}

NEEDS = {ACCOUNTANT: "accountant", NUMBER: "within"}  # what a column of a table says of an argument
# What may be a column of a table of runs -> what it must say beside its name, in the order of arguments.
COLUMNS: dict[str, list[str]] = {
    **{f"{of}_{measure}": [] for of in ("accuracy", "gain") for measure in MEASURES},
    **{
        name: [NEEDS[argument] for argument in signature.arguments]
        for name, signature in SIGNATURES.items()
        if signature.names in ((COLUMN,), (PRIVATE,)) and {*signature.arguments} <= {*NEEDS}
    },
}


def signature_text(name: str) -> str:
    """Signature of a function, as its documentation has it."""
    names, arguments, *_, several = SIGNATURES[name]
    return f"{name}({', '.join([*['NAME'] * len(names), *['...'] * several, *arguments])})"
