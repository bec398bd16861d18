"""What a paper's YAML may declare about tables with a run in every line; torch-free and free of pandas."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from fedpriv.frozen import Frozen
from fedpriv.paper.spends import SpendChoice
from fedpriv.report.rows import TableSpec


class Line(Frozen):
    """A run under the name that readers know it by."""

    run: str
    label: str


class RunsTable(TableSpec):
    """A line a run."""

    lines: tuple[Line, ...] = Field(min_length=1)

    def runs(self) -> Iterator[str]:
        return (line.run for line in self.lines)


class GammasTable(RunsTable):
    """What each γ of randomised response costs, under every reading, and what accuracy it leaves."""

    kind: Literal["gammas"] = "gammas"


class UploadsTable(RunsTable):
    """What a client sends in a round, against the same numbers in float32."""

    kind: Literal["uploads"] = "uploads"


class LabelsTable(RunsTable):
    """The (ε, δ) on the label of NbAFL, what it would be if its sensitivity were right, and what holds."""

    kind: Literal["labels"] = "labels"
    spend: SpendChoice  # what holds


class AblationTable(TableSpec):
    """Runs that match a glob against one of them: what they changed, and what became of the accuracy."""

    kind: Literal["ablation"] = "ablation"
    match: str
    reference: str

    def runs(self) -> Iterator[str]:
        yield self.reference
