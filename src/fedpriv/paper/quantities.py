"""The numbers that claims compare; torch-free and free of pandas.

A number is chosen by the key that names it: `{accuracy: bdp}`, `{epsilon: moments C}`. How it is read off the
runs is for `fedpriv.report.claims.quantities` to say.
"""

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, SerializeAsAny

from fedpriv.frozen import Frozen, Positive, Real, choice_error
from fedpriv.paper.cells import RUN, Cell
from fedpriv.paper.spends import Measure, SpendInWords, SpendSelector

# What a name must be, in a table; in a case it is that of a run.
COLUMN, PRIVATE, PRINTED = "column", "column with a private run", "column with a published accuracy"
COUNTED = "column read within one ε"
Name = Annotated[str, COLUMN]
PrivateName = Annotated[str, PRIVATE]


class Quantity(Frozen):
    """A number that a case has for every seed; the first of its keys names it."""

    words: ClassVar[str]
    unit: ClassVar[str] = ""  # of a number that it is compared with
    when: ClassVar[str] = ""  # it is read
    of_accuracies: ClassVar[bool] = False  # not of accounts alone: other data have other ones

    @classmethod
    def name(cls) -> str:
        return next(iter(cls.model_fields))

    def names(self, *kinds: str) -> list[str]:
        """Return the names that must be of one of `kinds`."""
        fields = type(self).model_fields.items()
        keys = [key for kind in kinds for key, field in fields if kind in field.metadata]
        found = [getattr(self, key) for key in keys]
        return [name for one in found for name in ((one,) if isinstance(one, str) else one)]

    def runs(self, cells: Mapping[str, Cell]) -> list[str]:
        """Return the runs without which it cannot be read, where names stand for `cells`."""
        return [cells[name].run for name in self.names(COLUMN, PRIVATE)]

    def compared(self, cells: Mapping[str, Cell]) -> list[Cell]:
        """Return the accuracies that were measured for it."""
        return [cells[name] for name in self.names(COLUMN)] if self.of_accuracies else []

    def spends(self, cells: Mapping[str, Cell]) -> list[tuple[str, SpendSelector]]:
        """Return the ε, each with its run, without which it cannot be read."""
        columns = [cells[name] for name in self.names(COLUMN)]
        private = [cells[name] for name in self.names(PRIVATE)]
        budgets = [(cell.run, spend) for cell in columns for spend, _ in cell.budgets]
        return budgets + [(cell.run, spend) for cell in private for spend in self.epsilons]

    @property
    def epsilons(self) -> list[SpendSelector]:
        return [value for _, value in self if isinstance(value, SpendSelector)]

    @property
    def whose(self) -> str:
        """Return the words that name its private run, where that is not the only one."""
        return "".join(f" of {name}" for name in self.names(PRIVATE) if name != RUN)

    def __str__(self) -> str:
        return self.words.format(self)


class Accuracy(Quantity):
    """The accuracy of a column within its budgets, or of a run."""

    of_accuracies = True
    words, unit = "accuracy of {0.accuracy}", "%"
    accuracy: Name  # a column, or the run of a case
    measure: Measure = "last"  # where there is no budget


class AccuracyWithin(Quantity):
    """The accuracy at the last evaluated round before `spend` first exceeds a number."""

    of_accuracies = True
    words, unit = "accuracy{0.whose} within ε = {0.accuracy_within:g} ({0.spend})", "%"
    accuracy_within: Positive  # the ε that is not exceeded
    spend: SpendInWords  # how that ε is counted
    of: PrivateName = RUN  # by default the one private run


class Published(Quantity):
    """The published accuracy of a column."""

    of_accuracies = True
    words, unit = "published accuracy of {0.published}", "%"
    published: Annotated[str, PRINTED]  # a column


class PublishedGain(Quantity):
    """How much more accurate one column is than another, as published."""

    of_accuracies = True
    words, unit = "published accuracy of {0.published_gain} − {0.over}", "points"
    published_gain: Annotated[str, PRINTED]  # a column
    over: Annotated[str, PRINTED]  # the one that it is compared with


class Gain(Quantity):
    """How much more accurate one is than another."""

    of_accuracies = True
    words, unit = "accuracy of {0.gain} − {0.over}", "points"
    gain: Name  # a column, or the run of a case: the more accurate one
    over: Name  # the one that it is compared with


class Share(Quantity):
    """So much of the gain of `of` over `over`; where that is none, more than any other gain."""

    of_accuracies = True
    words = "{0.share:g} times that of {0.of} − {0.over}"
    share: Real  # how much of the gain: 0.5 is half of it
    of: Name  # a column, or the run of a case: the more accurate one
    over: Name  # the one that the gain is over


class Lead(Quantity):
    """How much more accurate one is than each of a list: one comparison with each."""

    of_accuracies = True
    words, unit = "accuracy of {0.lead} − each of {0.others}", "points"
    lead: Name  # a column: the more accurate one
    over: Annotated[tuple[str, ...], COLUMN, Field(min_length=1)]  # columns that it is compared with
    measure: Measure = "last"  # where there is no budget

    @property
    def others(self) -> str:
        return ", ".join(self.over)


class Rise(Quantity):
    """The gain in accuracy along a list: one comparison from each to the next."""

    of_accuracies = True
    words, unit = "every rise in accuracy along {0.along}", "points"
    # columns, from the least accurate to the most
    rise: Annotated[tuple[str, ...], COLUMN, Field(min_length=2)]
    measure: Measure = "last"  # where there is no budget

    @property
    def along(self) -> str:
        return ", ".join(self.rise)


class Epsilon(Quantity):
    """An ε at the last round."""

    words, when = "ε ({0.epsilon}){0.whose}", "at the last round"
    epsilon: SpendInWords  # which one
    of: PrivateName = RUN  # by default the one private run


class LowerBound(Quantity):
    """The lower bound of an audit under an ε, at the last round."""

    of_accuracies = True  # of distances, which other data have other ones of
    words, when = "lower bound of {0.lower_bound} under ε ({0.under}){0.whose}", "at the last round"
    lower_bound: str  # an audit
    under: SpendInWords  # the ε that it is held against
    of: PrivateName = RUN  # by default the one private run


class Spent(Quantity):
    """The ε of a column at the last round, counted as the column counts it."""

    words, when = "ε of {0.spent}", "at the last round, as the column counts it"
    spent: Annotated[str, COLUMN, COUNTED]  # a column that is read within one ε


class DeltaOf(Quantity):
    """The δ at which an ε is counted."""

    words = "δ of ε ({0.delta}){0.whose}"
    delta: SpendInWords  # of which ε
    of: PrivateName = RUN  # by default the one private run


class Growth(Quantity):
    """By how much an ε grows from the first round to the last."""

    words, when = "growth of ε ({0.growth}){0.whose}", "after the first round"
    growth: SpendInWords  # of which ε
    of: PrivateName = RUN  # by default the one private run


class TimesSmaller(Quantity):
    """How many times fewer bytes a client sends a round than the numbers that `than` sends are in float32."""

    words = "bytes of what {0.than} sends a round, in float32, / bytes that {0.times_smaller} sends"
    times_smaller: Name  # the run whose uploads are counted in bytes
    than: Name  # the same, or another


class Rounds(Quantity):
    """After how many times as many rounds as `over` a run has the accuracy that `over` has at its end."""

    of_accuracies = True
    words = "rounds of {0.rounds} / rounds of {0.over}, to the final accuracy of {0.over} less {0.within:g},"
    rounds: Name  # a column, or the run of a case
    over: Name  # the one whose accuracy at the end is to be reached
    within: Real = 0.0  # so much below that accuracy will do


class Number(Quantity):
    """A number, or the name of one that every case gives; it may stand alone, without this key."""

    words = "{0.number}"
    number: Real | str  # itself, or its name in every case


QUANTITIES: dict[str, type[Quantity]] = {
    "accuracy": Accuracy,
    "accuracy_within": AccuracyWithin,
    "published": Published,
    "published_gain": PublishedGain,
    "gain": Gain,
    "share": Share,
    "lead": Lead,
    "rise": Rise,
    "epsilon": Epsilon,
    "lower_bound": LowerBound,
    "spent": Spent,
    "delta": DeltaOf,
    "growth": Growth,
    "times_smaller": TimesSmaller,
    "rounds": Rounds,
    "number": Number,
}


def _chosen(value: Any) -> Any:
    """Read a mapping as the quantity that one of its keys names, and what is no mapping as a number."""
    if isinstance(value, int | float | str):
        value = {"number": value}
    if not isinstance(value, dict):
        return value
    name = next((name for name in QUANTITIES if name in value), None)
    if name is None:
        raise choice_error("quantity", [value], f"a number, or one of {', '.join(QUANTITIES)}")
    return QUANTITIES[name].model_validate(value)


Written = reduce(or_, QUANTITIES.values(), float | str)  # for JSON schemas
Compared = Annotated[SerializeAsAny[Quantity], BeforeValidator(_chosen, json_schema_input_type=Written)]
