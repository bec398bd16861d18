"""What a paper's YAML may declare about its figures; torch-free and free of pandas.

Every class knows the runs that it draws, so that a misspelt run is an error before anything is computed.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, model_validator

from fedpriv.frozen import Frozen
from fedpriv.paper.spends import Accuracy, SpendChoice
from fedpriv.report.declared_runs import Line
from fedpriv.report.declared_tables import Limit, wrong


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
    measure: Literal["all", "drawn"] = "all"  # clients; drawn: those at which released code looks
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


class DivergencePanel(Panel):
    order: Annotated[float, Field(gt=1)] = 2.0
    lines: tuple[Line, ...] = ()

    def drawn(self) -> Sequence[Line]:
        return self.lines


class Series(Frozen):
    """Runs that differ in what is on the horizontal axis."""

    label: str
    runs: tuple[str, ...] = Field(min_length=1)


class PublishedAt(Frozen):
    """A published accuracy and where it stands on the horizontal axis."""

    at: PositiveFloat
    value: Accuracy


class SweepPanel(Panel):
    axis: str  # what is on it, in the paper's letters
    along: str  # dotted path into a run's config
    per: str = ""  # another, by which the first is divided
    series: tuple[Series, ...] = Field(min_length=1)
    published: tuple[PublishedAt, ...] = ()

    def drawn(self) -> Sequence[Line]:
        return [Line(run=run, label=one.label) for one in self.series for run in one.runs]


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


class DivergenceFigure(FigureSpec):
    """The Rényi divergence of one noisy bit against γ, with points at the γ of runs."""

    kind: Literal["divergence"] = "divergence"
    order: Annotated[float, Field(gt=1)] = 2.0
    lines: tuple[Line, ...] = ()

    def parts(self) -> Sequence[Panel]:
        return (DivergencePanel(title="", order=self.order, lines=self.lines),)


class SweepFigure(FigureSpec):
    """Accuracy at the last round against a number of the config, a point a run, a colour a series."""

    kind: Literal["sweep"] = "sweep"
    panels: tuple[SweepPanel, ...] = Field(min_length=1)

    def parts(self) -> Sequence[Panel]:
        return self.panels
