"""What a paper's YAML may declare about its figures; torch-free and free of pandas.

Every figure knows the runs that it draws, so that a misspelt run is an error before anything is computed.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator, Field, model_validator

from fedpriv.frozen import Frozen, OneOf, Positive, Real, choice_error, single_value
from fedpriv.paper.epsilons import EpsilonSelector, SelectorInWords
from fedpriv.paper.tables import Rendered, Scripted
from fedpriv.trace import EVALUATED


class DrawnRun(NamedTuple):
    """What is drawn of a run, under the name that readers know it by."""

    run: str
    label: str
    selector: EpsilonSelector | None = None

    @property
    def counted(self) -> EpsilonSelector:
        """Return the selector of a curve that has one."""
        assert self.selector is not None
        return self.selector


class AxesPair(NamedTuple):
    """What is drawn into one pair of axes."""

    title: str
    curves: list[DrawnRun]
    published: Mapping[str, float] = {}  # label -> value
    budgets: Sequence[tuple[DrawnRun, float]] = ()  # whose ε, and the one at which it is spent

    @property
    def read(self) -> list[DrawnRun]:
        """Return all that is read of runs, drawn as a curve or not."""
        return [*self.curves, *(curve for curve, _ in self.budgets)]


class FigureSpec(Rendered):
    """A figure of any kind."""

    def parts(self) -> list[AxesPair]:
        """Return its panels, from left to right."""
        raise NotImplementedError

    def runs(self) -> Iterator[str]:
        return (curve.run for part in self.parts() for curve in part.read)


Accountants = Annotated[  # a list is of selectors under their own words
    dict[str, SelectorInWords],
    BeforeValidator(
        lambda value: {str(selector): selector for selector in value} if isinstance(value, list) else value,
        json_schema_input_type=list[SelectorInWords] | dict[str, SelectorInWords],
    ),
]


class LinesFigure(FigureSpec):
    """A figure of runs whose names differ in what stands for `{line}`."""

    run: str = "{line}"
    """The name of a run."""
    lines: dict[str, str] = {}
    """What stands for {line} -> what readers know it by."""
    accountants: Accountants = {}
    """Label -> which ε is drawn; a list: each under its own words."""

    def curves(self, panel: str = "") -> list[DrawnRun]:
        """Return a curve for every line and every ε that is drawn of it."""
        selectors: Mapping[str, EpsilonSelector | None] = self.accountants or {"": None}
        return [
            DrawnRun(self.named(line, panel), ", ".join(filter(None, (label, name))), selector)
            for line, label in self.lines.items()
            for name, selector in selectors.items()
        ]

    def named(self, line: str, panel: str = "") -> str:
        """Return the name of the run of a line in a panel."""
        return self.run.replace("{panel}", panel).replace("{line}", line)


class Panel(Frozen):
    """One pair of axes of a figure against rounds; its title alone is one without published values."""

    title: str
    """Above the axes."""
    published: dict[str, Real] = {}
    """Label -> value, drawn across."""
    budgets: dict[str, Positive] = {}
    """One of the figure's -> the ε at which it is spent, drawn down."""


Titled = Annotated[Panel, single_value("title", str | Panel)]


class BudgetLine(Frozen):
    """Whose ε, and which, is held against a budget."""

    line: str
    """What stands for {line} in the name of the run."""
    accountant: SelectorInWords
    """Which ε of that run."""


# What can be drawn against rounds; what is evaluated beside accuracy where evaluation.metrics asks for it.
OfRounds = Annotated[str, OneOf([*EVALUATED, "drawn_accuracy", "epsilon", "growth"])]


class RoundsFigure(LinesFigure):
    """A quantity of runs against round, with published values and the rounds at which budgets are spent.

    The name of a run may have `{panel}` in it, for which the key of a panel stands.
    """

    kind: Literal["rounds"] = "rounds"
    quantity: OfRounds = "accuracy"
    """growth: of ε over ε₁."""
    panels: dict[str, Titled] = Field(min_length=1)
    """What stands for {panel} -> what is drawn there."""
    lines: dict[str, str] = Field({"": ""}, min_length=1)
    """What stands for {line} -> what readers know it by."""
    budgets: dict[str, BudgetLine] = {}
    """Label -> whose ε ends there."""

    @model_validator(mode="after")
    def _complete(self) -> "RoundsFigure":
        accountings = dict.fromkeys(
            selector.accounting.removeprefix("sized") or "no accounting"
            for selector in self.accountants.values()
        )
        if (self.quantity in ("epsilon", "growth")) != bool(self.accountants):
            raise choice_error(
                f"accountants of {self.quantity}", self.accountants, "those of epsilon and growth"
            )
        if self.quantity == "epsilon" and len(accountings) > 1:
            raise choice_error(f"accountants of {self.title}", accountings, "one accounting a figure")
        for panel in self.panels.values():
            if unknown := set(panel.budgets) - set(self.budgets):
                raise choice_error(
                    f"budgets of {panel.title}", sorted(unknown), ", ".join(self.budgets) or "none"
                )
        return self

    def parts(self) -> list[AxesPair]:
        return [
            AxesPair(panel.title, self.curves(key), panel.published, list(self.ends(key, panel)))
            for key, panel in self.panels.items()
        ]

    def ends(self, key: str, panel: Panel) -> Iterator[tuple[DrawnRun, float]]:
        """Yield whose ε ends in a panel, and at what."""
        for label, epsilon in panel.budgets.items():
            budget = self.budgets[label]
            yield DrawnRun(self.named(budget.line, key), label, budget.accountant), epsilon


class PythonFigure(Scripted, LinesFigure):
    """A figure of one panel by a function of `figures.py`, `(axes, results, curves)`."""

    def parts(self) -> list[AxesPair]:
        return [AxesPair("", self.curves())]


FIGURES: dict[str, type[FigureSpec]] = {"rounds": RoundsFigure, "python": PythonFigure}
