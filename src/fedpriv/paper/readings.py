"""Tables and figures of configurations: with which settings, if a paper says none, its pairs come out."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from fedpriv.frozen import Fraction, Frozen, Positive, choice_error
from fedpriv.paper.cells import Baseline, TableSpec
from fedpriv.paper.figures import Curve, FigureSpec, Part


class Pair(Frozen):
    """A published accuracy and the ε that it was reached within."""

    accuracy: Fraction  # published
    epsilon: Positive  # published


class ReadingsTable(TableSpec):
    """A line a configuration: a run at one σ, what comes of it, and how far that is from what is published.

    Runs that differ in σ and C alone, at equal noise σC, are one family. At a σ of which it has no run of its
    own, the one with the loosest C is counted at that σ, if it would have clipped no update.
    """

    kind: Literal["readings"] = "readings"
    match: str  # of runs, a glob
    multipliers: tuple[Positive, ...] = Field(min_length=1)  # every σ, as in `account.recount` of the runs
    dp: Pair  # published; counted by `moments`
    bdp: Pair  # published; counted by `bayesian product`
    baseline: Baseline | None = None  # accuracies are then compared as distances to it
    points: Positive = 1.5  # of accuracy that count as one
    ratio: Annotated[float, Field(gt=1, le=100)] = 1.5  # of ε that counts as one
    keys: dict[str, str] = {}  # dotted paths into a run's config that are shown -> what a run without it has
    names: tuple[str, ...] = ()  # the runs that match; filled in where a paper is read

    def runs(self) -> Iterator[str]:
        yield from self.names
        if self.baseline:
            yield self.baseline.run


class PairsFigure(FigureSpec):
    """Accuracy against σ, two points a configuration, and what is published; a panel a table of readings."""

    kind: Literal["pairs"] = "pairs"
    of: Annotated[  # the title of a panel -> the name of a table of readings
        dict[str, ReadingsTable],
        WithJsonSchema({"type": "object", "additionalProperties": {"type": "string"}}),
    ] = Field(min_length=1)

    def parts(self) -> list[Part]:
        return [
            Part(
                title,
                [Curve(run, "DP and BDP of every configuration") for run in table.names],
                {"DP": table.dp.accuracy, "BDP": table.bdp.accuracy},
            )
            for title, table in self.of.items()
        ]


def runs_named(table: Any, runs: Mapping[str, Any]) -> Any:
    """Return a declared table; one of readings with the names of the runs that it matches."""
    if not isinstance(table, Mapping) or table.get("kind") != "readings":
        return table
    match = str(table.get("match", ""))
    names = [run for run in runs if fnmatchcase(run, match)]
    if not names:
        raise choice_error("match", [match], f"a glob of {', '.join(runs)}")
    return {**table, "names": names}


def tables_resolved(figures: Any, tables: Mapping[str, TableSpec]) -> Any:
    """Return declared figures; those of tables of readings with these in them."""
    if not isinstance(figures, Mapping):
        return figures
    there = {name: table for name, table in tables.items() if isinstance(table, ReadingsTable)}

    def whole(name: str, figure: Any) -> Any:
        of = figure.get("of") if isinstance(figure, Mapping) else None
        if not isinstance(of, Mapping) or figure.get("kind") != "pairs":
            return figure
        for one in of.values():
            if isinstance(one, str) and one not in there:
                raise choice_error(f"{name}.of", [one], ", ".join(there) or "tables of readings")
        return {**figure, "of": {title: there.get(one, one) for title, one in of.items()}}

    return {name: whole(name, figure) for name, figure in figures.items()}
