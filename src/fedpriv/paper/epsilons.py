"""Which ε of a ledger is meant: the declaration that tables, figures and claims share.

Each accountant has the words that tell one of its ε from another (`fedpriv.account.accountants`). Only the
accountant that is asked for anything is loaded.

>>> str(EpsilonSelector(accountant="moments", sensitivity="2C"))
'moments, sensitivity 2C'
"""

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema, model_validator

from fedpriv.account.accountants import ACCOUNTANTS, Accountant
from fedpriv.frozen import Frozen, choice_error


def _known_accountant(name: str) -> str:
    if name not in ACCOUNTANTS:
        raise choice_error("accountant", [name], ", ".join(ACCOUNTANTS))
    return name


AccountantName = Annotated[
    str, AfterValidator(_known_accountant), WithJsonSchema({"enum": [*ACCOUNTANTS], "type": "string"})
]
Accounting = Literal["", "sequential", "parallel", "sum", "sized", "upload", "drawn"]

# Of an ε in a ledger: which it is.
SELECTOR_COLUMNS = ("accountant", "composition", "distance", "sensitivity", "accounting")
# What neighbours differ in, in words.
SENSITIVITIES = {
    "C": "sensitivity C",
    "2C": "sensitivity 2C",
    "bit": "one bit",
    "bits": "all bits",
    "all": "everything sent",
}
BITS = ("bit", "bits", "all")  # the sensitivities of randomised response


def words_of(accountant: Accountant) -> dict[str, tuple[str, ...]]:
    """Return column -> the words of an accountant there; those that it has none of are left out."""
    words = {
        "composition": accountant.compositions,
        "distance": accountant.distances,
        "sensitivity": accountant.sensitivities,
    }
    return {column: there for column, there in words.items() if there}


def _completed_by(field: str) -> WithJsonSchema:
    """Return the words of our accountants, for editors; those of packages are known when they are loaded."""
    words = (word for accountant in ACCOUNTANTS.own.values() for word in getattr(accountant, field))
    return WithJsonSchema({"enum": ["", *dict.fromkeys(words)], "type": "string"})


class EpsilonSelector(Frozen):
    """The columns that tell one ε of a ledger from another; its unit, relation and δ come with the ledger."""

    accountant: AccountantName
    composition: Annotated[str, _completed_by("compositions")] = ""
    """Of rounds; of an estimate."""
    distance: Annotated[str, _completed_by("distances")] = ""
    """What an estimate measures."""
    sensitivity: Annotated[str, _completed_by("sensitivities")] = ""
    """Of the sum to one client or example, or what of an upload is counted; C unless said."""
    accounting: Accounting = ""
    """empty: of noise that the server adds."""

    @model_validator(mode="before")
    @classmethod
    def _usual(cls, value: Any) -> Any:
        """Fill in what is usual: the sensitivity C, and of bits that every upload is seen."""
        if not isinstance(value, dict) or value.get("accountant") not in [*ACCOUNTANTS]:
            return value
        if "sensitivity" not in words_of(ACCOUNTANTS[value["accountant"]]):
            return value
        if value.get("sensitivity") in BITS:
            return {"accounting": "upload"} | value
        return {"sensitivity": "C"} | value

    @model_validator(mode="after")
    def _complete(self) -> "EpsilonSelector":
        needs = words_of(ACCOUNTANTS[self.accountant])
        keys = [name for name in SELECTOR_COLUMNS[1:-1] if getattr(self, name)]
        if keys != [*needs]:
            raise choice_error(f"words of {self.accountant}", keys, ", ".join(needs))
        for column, words in needs.items():
            if (word := getattr(self, column)) not in words:
                raise choice_error(f"{column} of {self.accountant}", [word], ", ".join(words))
        return self

    @property
    def key(self) -> tuple[str, ...]:
        """Return the values of the ledger's columns, in the order of `SELECTOR_COLUMNS`."""
        return tuple(getattr(self, name) for name in SELECTOR_COLUMNS)

    @property
    def kind(self) -> Literal["guarantee", "estimate"]:
        return ACCOUNTANTS[self.accountant].kind

    def __str__(self) -> str:
        counted = f"{self.accounting} {self.accountant}".strip()
        sensitivity = SENSITIVITIES.get(self.sensitivity, self.sensitivity)
        return ", ".join(filter(None, (counted, self.composition, self.distance, sensitivity)))


def _from_words(value: Any) -> Any:
    """Read `bayesian product remove_mean`, `sum moments 2C`, `bit exact`: a word is of one column only."""
    if not isinstance(value, str):
        return value
    known = {"accountant": tuple(ACCOUNTANTS), "accounting": get_args(Accounting)[1:]}
    for name in value.split():
        if name in ACCOUNTANTS:
            known |= words_of(ACCOUNTANTS[name])
            break
    read: dict[str, str] = {}
    for word in value.split():
        column = next((name for name, words in known.items() if word in words), None)
        if column is None or column in read:
            allowed = "; ".join("|".join(words) for words in known.values())
            raise choice_error("accountant", [f"{word} in '{value}'"], f"one of each of {allowed}")
        read[column] = word
    return read


SelectorInWords = Annotated[
    EpsilonSelector, BeforeValidator(_from_words, json_schema_input_type=str | EpsilonSelector)
]
# At which round an accuracy is read, and whose it is: that of all clients at the last round, or, as the
# authors' code prints it, that of some sampled clients at the round at which it is best.
Measure = Literal["last", "best_drawn"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
