"""What a paper's YAML may declare about its figures; torch-free and free of pandas.

Every class knows the runs that it draws, so that a misspelt run is an error before anything is computed.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field, PositiveFloat, model_validator

from fedpriv.frozen import Frozen
from fedpriv.report.declared_tables import Limit, wrong
from fedpriv.report.quantities import Accuracy
from fedpriv.report.spends import SpendChoice


class Line(Frozen):
    """A run drawn as a line."""

    run: str
    label: str


class SpendLine(Line):
    """One ε of a run, drawn as a line or a point."""

    spend: SpendChoice


class Mark(Frozen):
    """A published value, drawn as a thin labelled line across."""

    label: str
    value: float


class Exhausted(Limit):
    """The round at which a run has spent a budget, drawn as a line down."""

    run: str


class Panel(Frozen):
    """One pair of axes."""

    title: str

    def drawn(self) -> Sequence[Line]:
        """Return what is drawn of which run."""
        raise NotImplementedError


class CurvePanel(Panel):
    lines: tuple[Line, ...]
    published: tuple[Mark, ...] = ()
    budgets: tuple[Exhausted, ...] = ()

    def drawn(self) -> Sequence[Line]:
        return self.lines


class EpsilonPanel(Panel):
    run: str
    spends: tuple[SpendChoice, ...]  # of one accounting: its lines are told apart by all but that
    published: tuple[Mark, ...] = ()

    @model_validator(mode="after")
    def _one_accounting(self) -> "EpsilonPanel":
        found = dict.fromkeys(spend.accounting or "no accounting" for spend in self.spends)
        if len(found) > 1:
            raise wrong(f"spends of {self.title}", found, "one accounting a panel")
        return self

    def drawn(self) -> Sequence[Line]:
        return (Line(run=self.run, label=self.title),)


class GrowthPanel(Panel):
    lines: tuple[SpendLine, ...] = Field(min_length=1)

    def drawn(self) -> Sequence[Line]:
        return self.lines


class Guess(Frozen):
    """A point that the paper quotes: the accuracy of an attacker's guess at an ε."""

    label: str
    epsilon: PositiveFloat
    accuracy: Accuracy


class AttackerPanel(Panel):
    published: tuple[Guess, ...] = ()
    lines: tuple[SpendLine, ...] = ()

    def drawn(self) -> Sequence[Line]:
        return self.lines


class FigureSpec(Frozen):
    """What every figure says of itself."""

    kind: str
    title: str
    place: str = ""

    def parts(self) -> Sequence[Panel]:
        """Return its panels, from left to right."""
        raise NotImplementedError

    def runs(self) -> Iterator[str]:
        """Return the names of the runs that it draws."""
        return (line.run for panel in self.parts() for line in panel.drawn())


class CurvesFigure(FigureSpec):
    """Accuracy against round, a band for the interval over seeds."""

    kind: Literal["curves"] = "curves"
    panels: tuple[CurvePanel, ...] = Field(min_length=1)

    def parts(self) -> Sequence[Panel]:
        return self.panels

    def runs(self) -> Iterator[str]:
        yield from super().runs()
        yield from (budget.run for panel in self.panels for budget in panel.budgets)


class EpsilonsFigure(FigureSpec):
    """Every ε against round: guarantees solid, estimates dashed."""

    kind: Literal["epsilons"] = "epsilons"
    panels: tuple[EpsilonPanel, ...] = Field(min_length=1)

    def parts(self) -> Sequence[Panel]:
        return self.panels


class GrowthFigure(FigureSpec):
    """By how much ε exceeds its value after the first round, against round; a colour a run."""

    kind: Literal["growth"] = "growth"
    panels: tuple[GrowthPanel, ...] = Field(min_length=1)

    def parts(self) -> Sequence[Panel]:
        return self.panels


class AttackerFigure(FigureSpec):
    """What ε leaves to an attacker who guesses membership; points: what was published, what runs spent."""

    kind: Literal["attacker"] = "attacker"
    published: tuple[Guess, ...] = ()
    lines: tuple[SpendLine, ...] = ()  # their ε at the last round

    def parts(self) -> Sequence[Panel]:
        return (AttackerPanel(title="", published=self.published, lines=self.lines),)
