"""Presets and papers: two YAML files become the finite list of runs that the workflow asks for.

Torch-free and quick to import: Snakemake re-parses the plan in every job.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import yaml
from pydantic import Field, PositiveInt, SerializeAsAny, StringConstraints

from fedpriv.config import Run, Speed
from fedpriv.data import DATASETS
from fedpriv.errors import BadInput
from fedpriv.frozen import Frozen, chosen_from, parse
from fedpriv.models import MODELS
from fedpriv.report.check import known
from fedpriv.report.claim import Claim
from fedpriv.report.declared import FIGURES, TABLES
from fedpriv.report.declared_figures import FigureSpec
from fedpriv.report.rows import TableSpec, with_cells

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+$")]
DISCRIMINATORS = ("name", "law")
PARTS = ("paper", "runs", "tables", "figures", "claims")  # the files of a paper's folder


class Preset(Frozen):
    """What is built, and how large: the file that Snakemake takes as its config."""

    preset: Name
    papers: tuple[Name, ...] = Field(min_length=1)
    seeds: PositiveInt = 5
    mirrors: tuple[str, ...] = ()
    only: tuple[str, ...] = ("*",)
    stand_ins: dict[str, str] = {}
    patches: dict[str, dict[str, Any]] = {}
    speed: Speed = Speed()


class Author(Frozen):
    """A person."""

    given: str
    family: str
    affiliation: str = ""

    def __str__(self) -> str:
        return f"{self.given} {self.family}"


class Paper(Frozen):
    """One published experiment: its runs, what is rendered from them, what it printed and what it claims."""

    paper: Name
    title: str
    authors: tuple[Author | str, ...] = Field(min_length=1)  # a team by its name alone
    year: int
    url: str
    # Without one it was not published, and nobody cites it.
    type: Literal["article", "conference-paper", "manual"] | None = None
    venue: str = ""  # the journal or the conference
    publisher: str = ""
    isbn: str = ""
    doi: str = ""
    defaults: dict[str, Any] = {}
    runs: dict[Name, dict[str, Any]]
    tables: dict[Name, Annotated[SerializeAsAny[TableSpec], chosen_from(TABLES, "kind")]] = {}
    figures: dict[Name, Annotated[SerializeAsAny[FigureSpec], chosen_from(FIGURES, "kind")]] = {}
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    anchors: Any = None  # YAML only: a place for fragments that are used more than once

    @property
    def by(self) -> str:
        """Return the authors' names, as they are printed."""
        return ", ".join(map(str, self.authors))


class Planned(NamedTuple):
    """A run and the dataset that it stands in for, if it does."""

    run: Run
    stand_in_for: str | None


class Plan(NamedTuple):
    """Everything a preset asks for."""

    preset: Preset
    papers: dict[str, Paper]
    planned: dict[str, dict[str, Planned]]

    @property
    def seeds(self) -> range:
        return range(self.preset.seeds)

    @property
    def runs(self) -> dict[str, dict[str, Run]]:
        """Return the runs by paper and name."""
        return {paper: {name: one.run for name, one in runs.items()} for paper, runs in self.planned.items()}

    def all_runs(self) -> Iterator[Run]:
        return (run for runs in self.runs.values() for run in runs.values())

    def datasets(self) -> list[str]:
        return sorted({run.dataset for run in self.all_runs()})

    def partitions(self) -> dict[str, Run]:
        """Return one run of each partition, by id: runs with equal data, law and hold-out share its files."""
        return {partition_id(run): run for run in self.all_runs()}

    def features(self) -> dict[str, Run]:
        """Return one run of each file of features, by `arrays_id`."""
        return {arrays_id(run): run for run in self.all_runs() if run.model.reads == "features"}

    def labels(self, paper: str, name: str) -> dict[str, Any]:
        """Return what a run's summary says beside its results."""
        return {
            "paper": paper,
            "preset": self.preset.preset,
            "data": {"stand_in_for": self.planned[paper][name].stand_in_for},
        }


def arrays_id(run: Run) -> str:
    """Return the name of the file of arrays that a run trains on: its dataset's, or that of its features."""
    if run.model.reads == "images":
        return run.dataset
    photos = run.photos
    words = [run.dataset, getattr(run.model, "backbone", "")]
    words += [f"c{photos.copies}", f"s{photos.seed}", photos.dedup]
    return "-".join(words if photos.unreadable == "refuse" else [*words, photos.unreadable])


def partition_id(run: Run) -> str:
    """Return a readable name, the same for exactly the runs that may share a partition file."""
    law = run.partition
    words = [arrays_id(run), getattr(law, "law", ""), f"n{law.clients}"]
    if run.validation:
        words.append(f"v{run.validation}")
    others = law.model_dump(mode="json", exclude_defaults=True, exclude={"law", "clients"})
    if others:
        words.append(hashlib.sha256(json.dumps(others, sort_keys=True).encode()).hexdigest()[:6])
    return "-".join(words)


def merge(below: Any, above: Any) -> Any:
    """Lay `above` over `below`: dicts merge by key, unless they name different kinds; the rest replaces."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    if any(below.get(key, above.get(key)) != above.get(key, below.get(key)) for key in DISCRIMINATORS):
        return above
    return below | {key: merge(below[key], value) if key in below else value for key, value in above.items()}


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file; a missing or malformed file is BadInput naming it."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: found no readable file ({error.strerror}), allowed: a YAML file") from None
    return parse_yaml(text, path)


def read_folder(folder: Path) -> dict[str, Any]:
    """Return the mapping that the files of a paper's folder are together."""
    files = [folder / f"{part}.yaml" for part in PARTS]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files if file.exists())
    return parse_yaml(text, folder)


def parse_yaml(text: str, path: Path) -> dict[str, Any]:
    """Return the mapping that a text is."""
    try:
        content = yaml.safe_load(text)
    except RecursionError:
        raise BadInput(f"{path}: found keys within keys without end, allowed: a preset or a paper") from None
    except yaml.YAMLError as error:
        raise BadInput(f"{path}: found no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise BadInput(f"{path}: found {type(content).__name__}, allowed: a mapping of keys")
    return content


def papers_in(folder: Path) -> list[str]:
    """Return the names of the papers in `folder`, each a folder of its own."""
    return sorted(path.parent.name for path in folder.glob("*/paper.yaml"))


def load_paper(name: str, folder: Path) -> Paper:
    """Read the files of `folder/<name>/`; a table, figure or claim of a run that is not there is BadInput."""
    path = folder / name
    if not (path / "paper.yaml").exists():
        there = ", ".join(papers_in(folder)) or "none"
        raise BadInput(f"papers: found {name}, allowed: {there} (the folders in {folder})")
    paper = parse(Paper.model_validate, read_folder(path), str(path))
    if paper.paper != name:
        raise BadInput(f"{path}: paper: found {paper.paper}, allowed: {name}, as the folder is called")
    for kind in ("tables", "figures"):
        for item, spec in getattr(paper, kind).items():
            known(f"{path}: {kind}.{item}", spec.runs(), paper.runs)
    for claim in paper.claims:
        claim.check.validate_names(f"{path}: claims.{claim.id}", with_cells(paper.tables), paper.runs)
    return paper


def check_dataset(run: Run, where: str) -> None:
    """Raise BadInput for a dataset that is not known, or that does not give what the model reads."""
    known(where, [run.dataset], DATASETS)
    if DATASETS[run.dataset].gives != run.model.reads:
        datasets = [name for name, dataset in DATASETS.items() if dataset.gives == run.model.reads]
        models = [name for name, model in MODELS.items() if model.reads == DATASETS[run.dataset].gives]
        raise BadInput(
            f"{where}: found {run.dataset} with model {run.model.name}, allowed: with that model "
            f"{', '.join(sorted(datasets))}; with that dataset model {', '.join(sorted(models))}"
        )


def check_owners(run: Run, where: str) -> None:
    """Raise BadInput for a law that deals by writer, of data whose writers nobody knows."""
    if run.partition.by_owner and not DATASETS[run.dataset].writers:
        dealt = ", ".join(sorted(name for name, dataset in DATASETS.items() if dataset.writers))
        raise BadInput(
            f"{where}: found {getattr(run.partition, 'law', '')} with {run.dataset}, allowed: that law with "
            f"{dealt}; with that dataset a law that does not ask who wrote what"
        )


def matches(glob: str, paper: str, run: str) -> bool:
    """Return whether a preset's glob means a run: `*_n100_*` of any paper, or `bdp2019/*_n100_*` of one."""
    return fnmatchcase(f"{paper}/{run}" if "/" in glob else run, glob)


def plan_runs(preset: Preset, paper: Paper, where: str) -> dict[str, Planned]:
    """Return the runs of `paper` that `preset` keeps, patched and with its stand-ins."""
    planned = {}
    for name, own in paper.runs.items():
        if not any(matches(glob, paper.paper, name) for glob in preset.only):
            continue
        merged = merge(paper.defaults, own)
        wanted = merged.get("dataset")
        if wanted in preset.stand_ins:
            merged = merged | {"dataset": preset.stand_ins[wanted]}
        for glob, patch in preset.patches.items():
            if matches(glob, paper.paper, name):
                merged = merge(merged, patch)
        run = parse(Run.model_validate, merged, f"{where}: {paper.paper}.runs.{name}")
        check_dataset(run, f"{where}: {paper.paper}.runs.{name}.dataset")
        check_owners(run, f"{where}: {paper.paper}.runs.{name}.partition.law")
        planned[name] = Planned(run, wanted if wanted != run.dataset else None)
    if not planned:
        raise BadInput(
            f"{where}: only: found {', '.join(preset.only)}, allowed: globs that keep a run of {paper.paper}"
        )
    return planned


def make_plan(config: Mapping[str, Any], papers: Path, where: str = "config") -> Plan:
    """Return the plan of a preset given as data; `papers` is the folder of the papers' YAML files."""
    preset = parse(Preset.model_validate, dict(config), where)
    read = {name: load_paper(name, papers) for name in preset.papers}
    runs = [(paper, run) for paper in read for run in read[paper].runs]
    for key, globs in (("only", preset.only), ("patches", preset.patches)):
        for glob in globs:
            if not any(matches(glob, *run) for run in runs):
                names = ", ".join(f"{paper}/{run}" for paper, run in runs)
                raise BadInput(f"{where}: {key}: found {glob}, allowed: a glob of {names}")
    return Plan(preset, read, {name: plan_runs(preset, paper, where) for name, paper in read.items()})


def load_preset(path: Path) -> Plan:
    """Return the plan of a preset file; its papers are in the folder `papers` beside it."""
    return make_plan(read_yaml(path), path.parent / "papers", str(path))
