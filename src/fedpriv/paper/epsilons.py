"""Which ε of a ledger is meant: the declaration that tables, figures and claims share."""

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema, model_validator

from fedpriv.frozen import Frozen, choice_error
from fedpriv.registry import points

# Those of ours whose ε are in ledgers.
OURS = ("moments", "rdp", "pld", "bayesian", "exact", "theorem")


def accountants() -> tuple[str, ...]:
    """Names of accountants: ours, and those of installed packages, of which none is loaded."""
    return (*OURS, *(point.name for point in points("accountants")))


def _known_accountant(name: str) -> str:
    if name not in accountants():
        raise choice_error("accountant", [name], ", ".join(accountants()))
    return name


Accountant = Annotated[
    str, AfterValidator(_known_accountant), WithJsonSchema({"enum": [*accountants()], "type": "string"})
]
Composition = Literal["product", "hoelder", "panel"]
Distance = Literal["remove_sum", "remove_mean"]
Sensitivity = Literal["C", "2C", "bit", "bits", "all"]
Accounting = Literal["sequential", "parallel", "sum", "sized", "upload", "drawn"]
Empty = Literal[""]

SELECTOR_COLUMNS = {
    "accountant": OURS,  # and those of packages
    "composition": get_args(Composition),
    "distance": get_args(Distance),
    "sensitivity": get_args(Sensitivity),
    "accounting": get_args(Accounting),
}
# What neighbours differ in, in words.
SENSITIVITIES = {
    "C": "sensitivity C",
    "2C": "sensitivity 2C",
    "bit": "one bit",
    "bits": "all bits",
    "all": "everything sent",
}
# Sensitivity -> who counts it, from randomised response; from noise do all others but the Bayesian estimate.
OF_BITS = {"bit": ("rdp", "exact", "theorem"), "bits": ("rdp",), "all": ("rdp",)}


class EpsilonSelector(Frozen):
    """The columns that tell one ε of a ledger from another; its unit, relation and δ come with the ledger."""

    accountant: Accountant
    composition: Composition | Empty = ""
    """Of rounds; of bayesian only."""
    distance: Distance | Empty = ""
    """What bayesian measures; of bayesian only."""
    sensitivity: Sensitivity | Empty = ""
    """Of the sum to one client or example, or what of an upload is counted; C unless said."""
    accounting: Accounting | Empty = ""
    """empty: of noise that the server adds."""

    @model_validator(mode="before")
    @classmethod
    def _usual(cls, value: Any) -> Any:
        """Fill in what is meant when it is not said.

        That is the sensitivity C, and of bits that every upload is seen.
        """
        if not isinstance(value, dict) or value.get("accountant") == "bayesian":
            return value
        if value.get("sensitivity") in [*OF_BITS]:  # whatever it is, perhaps nothing that can be a key
            return {"accounting": "upload"} | value
        return {"sensitivity": "C"} | value

    @model_validator(mode="after")
    def _complete(self) -> "EpsilonSelector":
        bayesian = self.accountant == "bayesian"
        needs = ["composition", "distance"] if bayesian else ["sensitivity"]
        keys = [name for name in list(SELECTOR_COLUMNS)[1:-1] if getattr(self, name)]
        if keys != needs:
            raise choice_error(f"said of {self.accountant}", keys, ", ".join(needs))
        of_noise = [name for name in accountants() if name not in ("bayesian", "exact", "theorem")]
        counted = OF_BITS.get(self.sensitivity, of_noise)
        if self.sensitivity and self.accountant not in counted:
            raise choice_error(f"sensitivity {self.sensitivity}", [self.accountant], ", ".join(counted))
        return self

    @property
    def key(self) -> tuple[str, ...]:
        """Return the values of the ledger's columns, in the order of `SELECTOR_COLUMNS`."""
        return tuple(getattr(self, name) for name in SELECTOR_COLUMNS)

    @property
    def kind(self) -> Literal["guarantee", "estimate"]:
        return "estimate" if self.accountant == "bayesian" else "guarantee"

    def __str__(self) -> str:
        counted = f"{self.accounting} {self.accountant}".strip()
        if self.accountant == "bayesian":
            return f"{counted}, {self.composition}, {self.distance}"
        return f"{counted}, {SENSITIVITIES[self.sensitivity]}"


def _from_words(value: Any) -> Any:
    """Read `bayesian product remove_mean`, `sum moments 2C`, `bit exact`: a word is of one column only."""
    if not isinstance(value, str):
        return value
    known = SELECTOR_COLUMNS | {"accountant": accountants()}
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
