"""One published experiment, as its folder declares it."""

from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SerializeAsAny, StringConstraints, ValidationInfo, field_validator

from fedpriv.errors import BadInput, Gathered, plain, require_known
from fedpriv.frozen import Count, Frozen, Name, chosen_from, parse
from fedpriv.paper.arithmetic import caption_runs
from fedpriv.paper.cells import TableSpec, accuracy_tables
from fedpriv.paper.claims import Claim
from fedpriv.paper.figures import FIGURES, FigureSpec
from fedpriv.paper.parts import Part, runs_of
from fedpriv.paper.read import papers_in, read_files
from fedpriv.paper.scripts import Scripted
from fedpriv.paper.tables import TABLES, self_contained
from fedpriv.registry import Registry

# What a browser may be sent to: nothing that runs, and nothing of this machine.
Link = Annotated[str, StringConstraints(pattern=r"^https?://[0-9A-Za-z][!-~]*$")]


class Paper(Frozen):
    """One published experiment: its runs, what is rendered from them, what it printed and what it claims."""

    paper: Name
    """Its name: that of its folder."""
    title: str
    authors: tuple[str, ...] = Field(min_length=1)
    """As they are printed."""
    year: Count
    url: Link
    """Where it can be read."""
    defaults: dict[str, Any] = {}
    """What every run says unless its parts or itself say otherwise; keys of a [Run](#run)."""
    parts: dict[Name, Part] = {}
    """Fragments that runs share."""
    runs: dict[Name, dict[str, Any]]
    """Each a [DeclaredRun](#declaredrun)."""
    table_defaults: dict[str, dict[str, Any]] = {}
    """By kind, what its tables say unless they say otherwise."""
    tables: dict[Name, Annotated[SerializeAsAny[TableSpec], chosen_from(TABLES, "kind")]] = {}
    """Name of a file -> a table, chosen by `kind`."""
    figures: dict[Name, Annotated[SerializeAsAny[FigureSpec], chosen_from(FIGURES, "kind")]] = {}
    """Name of a file -> a figure, chosen by `kind`."""
    claims: tuple[Claim, ...] = ()
    """What the paper claims, made checkable."""
    notes: tuple[str, ...] = ()
    """What the paper leaves open, and how it is read here."""

    @field_validator("tables", mode="before")
    @classmethod
    def _self_contained(cls, tables: Any, info: ValidationInfo) -> Any:
        return self_contained(tables, info.data.get("table_defaults", {}))

    @property
    def by(self) -> str:
        """Return the authors' names in one text."""
        return ", ".join(self.authors)

    def showing(self, names: Container[str]) -> "Paper":
        """Return the paper with these tables and figures alone, the runs that they read, and no claims."""
        tables = {name: one for name, one in self.tables.items() if name in names}
        figures = {name: one for name, one in self.figures.items() if name in names}
        read = [one for shown in (*tables.values(), *figures.values()) for one in shown.reads(self.runs)]
        runs = {name: run for name, run in self.runs.items() if name in read}
        return self.model_copy(update={"runs": runs, "tables": tables, "figures": figures, "claims": ()})


# Folders of papers that installed packages bring.
PAPERS: Registry[Path] = Registry("papers", Path, {})


def folder_of(name: str, folders: Iterable[Path]) -> Path:
    """Return which of `folders`, or of those that installed packages bring, has the paper of that name.

    None is BadInput naming the papers there are; several are BadInput naming these.
    """
    folders = list(dict.fromkeys(folders))
    found = {folder.resolve(): folder for folder in folders if (folder / name / "paper.yaml").exists()}
    if name in PAPERS:
        found[PAPERS[name].resolve().parent] = PAPERS[name].parent
    if len(found) > 1:
        places = " and in ".join(map(str, found.values()))
        raise BadInput(f"papers: found {name} in {places}, allowed: in one of them")
    if not found:
        there = sorted({*PAPERS, *(one for folder in folders for one in papers_in(folder))})
        places = ", ".join(map(str, folders))
        raise BadInput(
            f"papers: found {plain(name)}, allowed: {', '.join(there) or 'none'} (the folders in {places})"
        )
    return found.popitem()[1]


def load_runs(name: str, folder: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Read of the files of a paper what its runs are laid over, and the runs; whatever else is wrong."""
    path = folder / name
    files = read_files(path)
    runs = runs_of({key: one.value for key, one in files.items()}, str(path))
    defaults = files["defaults"].value if "defaults" in files else {}
    return defaults if isinstance(defaults, dict) else {}, runs


# What is rendered of a paper, which no run needs.
RENDERED = ("table_defaults", "tables", "figures", "claims")


def load_paper(name: str, folder: Path, only: str = "") -> Paper:
    """Read the files of `folder/<name>/`; a table, figure or claim of a run that is not there is BadInput.

    All that is wrong is told together. With `only` the paper has that run alone, if it can be made, and
    nothing that is rendered: what is wrong with anything else is not looked at.
    """
    path = folder / name
    files = read_files(path)
    content = {key: one.value for key, one in files.items() if not (only and key in RENDERED)}
    where = {key: str(path / one.file) for key, one in files.items()}

    def read(content: Mapping[str, Any], runs: Mapping[str, Any]) -> Paper:
        whole = {**content, "runs": runs}
        return parse(
            Paper.model_validate, whole, lambda key: where.get(str(key[0]) if key else "", str(path))
        )

    wrong, runs = Gathered(), {}
    with wrong.aside():
        runs = runs_of(content, where.get("runs", str(path)), only)
    if wrong.found:  # what is rendered asks for runs
        with wrong.aside():
            read({key: value for key, value in content.items() if key not in RENDERED}, {})
        wrong.told()
    paper = read(content, {only: runs[only]} if only in runs else runs)
    if paper.paper != name:
        raise BadInput(f"{path}: paper: found {plain(paper.paper)}, allowed: {name}, as the folder is called")
    for kind in ("tables", "figures"):
        for item, spec in getattr(paper, kind).items():
            with wrong.aside():
                if isinstance(spec, Scripted):
                    spec.find(path / f"{kind}.py", f"{path}: {kind}.{item}")
                require_known(f"{path}: {kind}.{item}", spec.runs(), paper.runs)
                named = caption_runs(spec.caption)
                require_known(f"{path}: {kind}.{item}.caption", named, spec.reads(paper.runs))
    for claim in () if wrong.found else paper.claims:  # they are about tables
        with wrong.aside():
            claim.validate_names(
                f"{where['claims']}: claims.{claim.id}", accuracy_tables(paper.tables), paper.runs
            )
    wrong.told()
    return paper
