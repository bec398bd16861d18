"""The kinds of tables that a paper's YAML may declare; torch-free and free of pandas."""

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema, model_validator

from fedpriv.frozen import Frozen, Label, Positive, alone, choice_error
from fedpriv.paper.cells import AccuracyTable, TableSpec
from fedpriv.paper.scripts import Scripted
from fedpriv.paper.spends import SpendInWords


class SpendsTable(TableSpec):
    """The companion of a table of accuracies: every ε of `spends` at the rounds at which that was read."""

    kind: Literal["spends"] = "spends"
    of: Annotated[AccuracyTable, WithJsonSchema({"type": "string"})]
    """The name of a table of accuracies."""
    spends: tuple[SpendInWords, ...] = Field(min_length=1)
    """Which ε of every run."""

    def runs(self) -> Iterator[str]:
        return self.of.runs()


class Line(Frozen):
    """A run under the name that readers know it by."""

    run: str
    label: Label


# What can be read of every run; `fedpriv.report.tables.runs` has the function of each.
OfAccuracy = Literal["accuracy_last", "accuracy_best_drawn", "accuracy_within"]
OfMetrics = Literal["perplexity", "auroc", "f1", "error"]  # at the last evaluated round; evaluation.metrics
OfGain = Literal["gain_last", "gain_best_drawn"]
OfBits = Literal["gamma", "share_flipped"]
OfUploads = Literal["numbers_sent", "clear_values", "upload_bytes", "float32_bytes", "times_smaller"]
OfNoise = Literal["upload_noise_std", "broadcast_noise_std"]
OfLabels = Literal["ratio", "epsilon_label", "delta_label", "epsilon_if"]  # of NbAFL
Quantity = Literal["round", "epsilon", OfAccuracy, OfMetrics, OfGain, OfBits, OfUploads, OfNoise, OfLabels]
# What a quantity needs beside its name; everything else needs nothing.
NEEDS = {"epsilon": {"spend"}, "accuracy_within": {"spend", "within"}}


class RunColumn(Frozen):
    """A number of every run, by its name; of an ε, and of an accuracy within one, how it is counted."""

    name: Quantity
    group: str = ""
    """What stands above the label; by default what the quantity says of itself."""
    label: str = ""
    """By default the quantity's own."""
    spend: SpendInWords | None = None
    """How its ε is counted."""
    within: Positive | None = None
    """The ε that is not exceeded where an accuracy is read."""

    @model_validator(mode="after")
    def _complete(self) -> "RunColumn":
        given = {name for name in ("spend", "within") if getattr(self, name)}
        wanted = NEEDS.get(self.name, set())
        if given != wanted:
            raise choice_error(
                self.name, sorted(given), f"{self.name} with {', '.join(sorted(wanted)) or 'nothing'}"
            )
        return self


ColumnChoice = Annotated[RunColumn, alone("name", Quantity | RunColumn)]


class RunsTable(TableSpec):
    """A line a run: those of `lines`, or those that `match` a glob; any number that can be read of it."""

    kind: Literal["runs"] = "runs"
    columns: tuple[ColumnChoice, ...] = Field(min_length=1)
    """From left to right; a name alone will do."""
    lines: tuple[Line, ...] = ()
    """From top to bottom."""
    match: str = ""
    """Glob of runs, instead of `lines`."""
    reference: str = ""
    """The run that the others are held against: which config keys differ, and gains."""
    keys: tuple[str, ...] = ()
    """Dotted paths into the run's config, shown before the columns."""
    best_first: bool = False
    """In the order of the first column."""
    infinite: str = ""
    """What ∞ in a cell means."""

    @model_validator(mode="after")
    def _complete(self) -> "RunsTable":
        if bool(self.lines) == bool(self.match):
            raise choice_error("lines", [self.match] if self.match else [], "lines, or match")
        gains = [column.name for column in self.columns if column.name.startswith("gain")]
        if gains and not self.reference:
            raise choice_error("columns", gains, "these with a reference")
        return self

    def runs(self) -> Iterator[str]:
        yield from filter(None, [self.reference, *(line.run for line in self.lines)])

    def reads(self, there: Iterable[str]) -> Iterator[str]:
        yield from self.runs()
        yield from (run for run in there if fnmatchcase(run, self.match))


class AuditsTable(TableSpec):
    """Lower bounds beside what is stated: a line for every ε of a run that is audited."""

    kind: Literal["audits"] = "audits"
    lines: tuple[Line, ...] = Field(min_length=1)
    """Audited runs, from top to bottom."""

    def runs(self) -> Iterator[str]:
        return (line.run for line in self.lines)


class PythonTable(Scripted, TableSpec):
    """A table by a function of `tables.py`, `(results, declared, name) -> render.Table`."""

    lines: dict[str, str] = {}
    """A run that it reads -> what readers know it by."""

    def runs(self) -> Iterator[str]:
        yield from self.lines


TABLES: dict[str, type[TableSpec]] = {
    "accuracy": AccuracyTable,
    "spends": SpendsTable,
    "runs": RunsTable,
    "python": PythonTable,
    "audits": AuditsTable,
}


def self_contained(tables: Any, defaults: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return declared tables, each over its kind's `defaults`; where it is `of` another, with that in it.

    What is no mapping is left to the schema to refuse; a name that is not there is the error that says so.
    """
    if not isinstance(tables, Mapping):
        return tables
    whole = {
        name: {**defaults.get(str(table.get("kind")), {}), **table} if isinstance(table, Mapping) else table
        for name, table in tables.items()
    }
    accuracies = [
        name for name, one in whole.items() if isinstance(one, dict) and one.get("kind") == "accuracy"
    ]
    for name, table in whole.items():
        if isinstance(table, dict) and isinstance(of := table.get("of"), str):
            if of not in accuracies:
                raise choice_error(f"{name}.of", [of], ", ".join(map(str, accuracies)) or "none is there")
            whole[name] = table | {"of": whole[of]}
    return whole
