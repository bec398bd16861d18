"""Presets and papers: two YAML files become the finite list of runs that the workflow asks for.

Torch-free and quick to import: Snakemake re-parses the plan in every job. A run is its paper's defaults,
its parts and its own keys, and over them what the preset says (`lay`).
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import Field, ValidationError, field_validator

from fedpriv.config.run import Run
from fedpriv.data import DATASETS
from fedpriv.data.own import Npz
from fedpriv.errors import BadInput, match_name, plain, require_known
from fedpriv.frozen import Frozen, Name, Thousands, choice_error, mistakes, parse
from fedpriv.local.work import Speed
from fedpriv.paper.paper import PAPERS, Paper, homes, load_paper, merge, read_yaml
from fedpriv.paper.tables import accuracy_tables
from fedpriv.store.summary import TRACE, glance_at, stored_path

# Keys of a paper that no preset has.
PAPER_KEYS = {*Paper.model_fields} - {"notes"}


def arrays_id(run: Run) -> str:
    """Return the name of the file of arrays that a run trains on: its dataset's, or that of its features."""
    photos, words = run.photos, [run.data, run.model.features]
    if run.learn_from == "public":
        words.append("public")
    if run.model.features and run.model.reads == "images":
        return "-".join(words)
    # Features of one's own are read as they are.
    if not run.model.features or not isinstance(run.dataset, str):
        return run.data
    return "-".join([*words, f"c{photos.copies}", f"s{photos.seed}", photos.dedup])


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


TAKEN_FOLDERS = ("reference", "runs")  # of results: what is stored, and runs by themselves


class Preset(Frozen):
    """What is built, and how large: the file that Snakemake takes as its config."""

    preset: Name
    """Its name; what it makes is in results/<preset>."""
    papers: tuple[Name, ...] = Field(min_length=1)
    """Folders of config/papers."""
    paper_folders: tuple[str, ...] = ()
    """Where papers are beside config/papers, from the current folder."""
    seeds: Thousands = 5
    """So many of each run: 0, 1, ..."""
    mirrors: tuple[str, ...] = ()
    """Folders or base URLs that are tried before the public sources."""
    only: tuple[str, ...] = ("*",)
    """Globs; runs that match none are left out: `*_n100_*` of any paper, `bdp2019/*_n100_*` of one."""
    show: tuple[str, ...] = ()
    """Only these tables and figures, PAPER/NAME, and the runs they read."""
    substitutes: dict[str, str] = {}
    """Dataset of a paper -> the one that is used instead, which its tables say."""
    patches: dict[str, dict[str, Any]] = {}
    """Glob of runs, as in `only` -> keys that are laid over theirs, the later over the earlier."""
    speed: Speed = Speed()
    """How fast, never what."""
    again: bool = False
    """Train runs that are stored in results/reference, too."""

    @field_validator("preset")
    @classmethod
    def _has_a_folder(cls, name: str) -> str:
        if name in TAKEN_FOLDERS:
            raise choice_error("preset", [name], "another name, for results/ has that folder already")
        return name


class Planned(NamedTuple):
    """A run, the dataset that it stands in for, if it does, and what the preset leaves out of it."""

    run: Run
    substitute_for: str | None
    cut: str = ""


@dataclass(frozen=True)
class RunKey:
    """Which run: of which paper, at which seed, and by its config which identity it has."""

    paper: str
    run: str
    seed: int
    config: Run = field(compare=False, repr=False)

    @cached_property
    def identity(self) -> str:
        """Hash of all that its training depends on, which tells it from every other run."""
        return self.config.identity(self.run, self.seed)

    @property
    def word(self) -> str:
        """Argument of a step, after the paper."""
        return f"{self.run}/{self.seed}"

    def directory(self, preset: str) -> str:
        """Directory in which a preset has it, from its root."""
        return f"results/{preset}/{self.paper}/runs/{self.run}/seed{self.seed}"

    def stored(self, reference: Path) -> Path:
        """Path at which it is stored, if it is."""
        return stored_path(reference, self.paper, self.run, self.seed, self.identity)

    def trained(self, preset: str, root: Path = Path()) -> bool:
        """Return True where a preset has it trained, by what its summary says, unchecked and fast."""
        directory = root / self.directory(preset)
        return (directory / TRACE).exists() and glance_at(directory) == (self.identity, False)


@dataclass(frozen=True)
class Plan:
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
        return {
            paper: {name: planned.run for name, planned in runs.items()}
            for paper, runs in self.planned.items()
        }

    def all_runs(self) -> Iterator[Run]:
        return (run for runs in self.runs.values() for run in runs.values())

    def keys(self, paper: str, run: str = "") -> list[RunKey]:
        """Return the runs of a paper at every seed, or one of them, seed by seed."""
        names = [run] if run else list(self.planned[paper])
        return [self.key(paper, name, seed) for seed in self.seeds for name in names]

    def identities(self, paper: str, run: str) -> dict[int, str]:
        """Return by seed the identity of a run."""
        return {key.seed: key.identity for key in self.keys(paper, run)}

    def key(self, paper: str, run: str, seed: int) -> RunKey:
        """Return one of them, the same whenever it is asked for: its identity is hashed once."""
        if (name := (paper, run, seed)) not in self._keys:
            self._keys[name] = RunKey(*name, self.planned[paper][run].run)
        return self._keys[name]

    @cached_property
    def _keys(self) -> dict[tuple[str, str, int], RunKey]:
        return {}

    def datasets(self) -> list[str]:
        return sorted({run.data for run in self.all_runs()})

    def own_data(self) -> dict[str, Npz]:
        """Return data that a run has of its own, by the name of their arrays."""
        datasets = (run.dataset for run in self.all_runs())
        return {dataset.name: dataset for dataset in datasets if not isinstance(dataset, str)}

    def partitions(self) -> dict[str, Run]:
        """Return one run of each partition, by id: runs with equal data, law and hold-out share its files."""
        return {partition_id(run): run for run in self.all_runs()}

    def features(self) -> dict[str, Run]:
        """Return one run of each file of features, by `arrays_id`."""
        runs = {arrays_id(run): run for run in self.all_runs() if run.model.features}
        return {name: run for name, run in runs.items() if name != run.data}

    def labels(self, paper: str, name: str) -> dict[str, Any]:
        """Labels of a run's summary beside its results, among them its δ."""
        return {
            "paper": paper,
            "preset": self.preset.preset,
            "data": {"substitute_for": self.planned[paper][name].substitute_for},
            "account": self.planned[paper][name].run.account.model_dump(),
        }


def wrong_dataset(run: Run) -> str:
    """One line on a dataset that is not known, or does not give what the model reads; else empty.

    What data of one's own are is known when they are read.
    """
    if not isinstance(run.dataset, str):
        return ""
    if run.dataset not in DATASETS:
        return f"dataset: found {plain(run.dataset)}, allowed: {', '.join(DATASETS)}"
    if DATASETS[run.dataset].gives != run.model.reads:
        allowed = sorted(name for name, dataset in DATASETS.items() if dataset.gives == run.model.reads)
        fault = f"dataset: found {run.dataset} with model {run.model.name}"
        return f"{fault}, allowed with it: {', '.join(allowed)}"
    return ""


def wrong_law(run: Run) -> str:
    """One line on data that are to be dealt by writer and have none; else empty."""
    known = DATASETS.get(run.data)
    if run.partition.by_owner and known and not known.writers:
        dealt = ", ".join(sorted(name for name, dataset in DATASETS.items() if dataset.writers))
        fault = f"partition.law: found {getattr(run.partition, 'law', '')} with {run.data}"
        return f"{fault}, allowed: that law with {dealt}"
    return ""


def matches(glob: str, paper: str, run: str) -> bool:
    """Match a preset's glob with a run: `*_n100_*` of any paper, or `bdp2019/*_n100_*` of one."""
    return fnmatchcase(f"{paper}/{run}" if "/" in glob else run, glob)


def keeps(preset: Preset, paper: str, run: str) -> bool:
    """Say if a preset keeps a run."""
    return any(matches(glob, paper, run) for glob in preset.only)


def lay(
    preset: Preset, own: Mapping[str, Any], paper: str, name: str, patched: bool = True
) -> dict[str, Any]:
    """Config of a run, its `own` keys with the preset's substitutes and patches over them."""
    config = dict(own)
    if "dataset" in config:
        config["dataset"] = preset.substitutes.get(str(config["dataset"]), config["dataset"])
    for glob, patch in preset.patches.items() if patched else ():
        if matches(glob, paper, name):
            config = merge(config, patch)
    return config


def cut_words(whole: Run, run: Run) -> str:
    """Words on what a run has less of than the `whole` run that its paper declares; else empty."""
    less = []
    for name, size in {
        "rounds": lambda run: run.rounds,
        "clients": lambda run: run.partition.clients,
        "clients a round": lambda run: run.cohort.expected(run.partition.clients),
        "examples a client": lambda run: run.partition.each or math.inf,
    }.items():
        planned, declared = size(run), size(whole)
        if planned < declared:
            less.append(f"{planned:,.6g} of {declared:,.6g} {name}".replace("inf", "all"))
    return ", ".join(less)


def plan_runs(
    preset: Preset, paper: Paper, where: str, settings: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Planned]:
    """Return the runs of a paper that `preset` keeps, patched and with its substitutes, below the `settings`.

    What is wrong with a key is BadInput that names it; of several runs of which the same is wrong the first
    is named, and how many more there are. The error has all that is wrong.
    """
    planned: dict[str, Planned] = {}
    wrong: dict[str, list[str]] = {}  # a mistake -> the runs that have it
    for name in paper.runs:
        if keeps(preset, paper.paper, name):
            checked = plan_run(preset, paper, name, settings)
            if isinstance(checked, Planned):
                planned[name] = checked
            else:
                for mistake in checked:
                    wrong.setdefault(mistake, []).append(name)
    if wrong:
        errors = []
        for text, (first, *more) in wrong.items():
            others = f" (and {len(more)} more runs, {more[-1]} the last)" if more else ""
            errors.append(f"{where}: {paper.paper}.runs.{first}: {text}{others}")
        raise BadInput(*errors)
    if not planned:
        globs = ", ".join(map(plain, preset.only)) or "nothing"
        raise BadInput(f"{where}: only: found {globs}, allowed: globs that keep a run of {paper.paper}")
    return planned


def plan_run(preset: Preset, paper: Paper, name: str, settings: Mapping[str, Any]) -> Planned | list[str]:
    """Return a run of a paper as it is planned, or all that is wrong with it."""
    own = merge(paper.defaults, paper.runs[name])
    checked = check_run(merge(lay(preset, own, paper.paper, name), dict(settings)))
    if not isinstance(checked, Run):
        return checked
    whole, dataset = checked, own.get("dataset")
    if preset.patches or settings:
        whole = check_run(lay(preset, own, paper.paper, name, patched=False))
    replaced = dataset if isinstance(dataset, str) and dataset != checked.dataset else None
    return Planned(checked, replaced, cut_words(whole, checked) if isinstance(whole, Run) else "")


def check_run(config: Mapping[str, Any]) -> Run | list[str]:
    """Return the run of a config, or all that is wrong with it."""
    try:
        run = Run.model_validate(config)
    except ValidationError as error:
        return [mistake.text for mistake in mistakes(error, config)]
    return [text for text in (wrong_dataset(run), wrong_law(run)) if text] or run


def elements(papers: Mapping[str, Paper], words: Iterable[str]) -> list[str]:
    """Tables and figures as PAPER/NAME."""
    there = [f"{name}/{part}" for name, paper in papers.items() for part in (*paper.tables, *paper.figures)]
    return [match_name("table or figure", word, there, "fedpriv list tables") for word in words]


def make_plan(
    config: Mapping[str, Any],
    papers: Path,
    where: str = "config",
    files: Iterable[str] = (),
    alone: tuple[str, str] | None = None,
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> Plan:
    """Return the plan of a preset given as data; `papers` is the folder of the papers' YAML files.

    Others may be in the preset's own `paper_folders`, and in installed packages. Where somebody else has read
    the preset from `files`, our own reader may still refuse them: of a key that stands twice Snakemake takes
    the last. Of a paper and a run that are asked for `alone`, in any case, nothing else is planned, whatever
    is wrong with other runs; `settings` are laid over all that it says.
    """
    # 1. The preset, and the folders that have its papers.
    for file in files:
        refuse_paper(read_yaml(Path(file)), file)
    refuse_paper(config, where)
    preset = parse(Preset.model_validate, dict(config), where)
    folders = [*map(Path, preset.paper_folders), papers]
    for folder in folders[:-1]:
        if not folder.is_dir():
            raise BadInput(f"{where}: paper_folders: found no folder {folder}, allowed: folders of papers")

    # 2. The papers; every glob of the preset means a run of one. Where only parts are shown, nothing else.
    read = read_papers(preset, folders, where)
    if preset.show:
        read = shown_alone(preset, read)

    # 3. Their runs.
    if alone:
        read = run_alone(preset, read, *alone)
    planned = {name: plan_runs(preset, paper, where, settings) for name, paper in read.items()}
    for name, paper in read.items():
        check_free(paper, planned[name], f"{where}: {name}")
    return Plan(preset, read, planned)


def read_papers(preset: Preset, folders: Sequence[Path], where: str) -> dict[str, Paper]:
    """Return the papers of a preset by name; BadInput for one that is not there, or a glob of no run."""
    there = homes(*folders)
    for name in preset.papers:
        if beside := name not in there and PAPERS.beside(name):
            raise BadInput(f"{where}: papers: {beside}")
    homes_read = f"{', '.join(map(str, folders))} and installed packages"
    require_known(f"{where}: papers, in {homes_read}", preset.papers, there)
    read = {name: load_paper(name, there[name]) for name in preset.papers}
    check_globs(read, preset.only, f"{where}: only")
    check_globs(read, preset.patches, f"{where}: patches")
    return read


def shown_alone(preset: Preset, papers: Mapping[str, Paper]) -> dict[str, Paper]:
    """Return the papers of which tables and figures are shown, with these alone."""
    parts: dict[str, list[str]] = {}
    for name, item in (word.split("/", 1) for word in elements(papers, preset.show)):
        parts.setdefault(name, []).append(item)
    return {name: paper.showing(parts[name]) for name, paper in papers.items() if name in parts}


def refuse_paper(config: Mapping[str, Any], where: str) -> None:
    """Raise BadInput for what is a paper, or a file of one, and no preset."""
    if keys := [key for key in config if "preset" not in config and key in PAPER_KEYS]:
        found = f"a paper, or a file of one, by its keys {', '.join(keys)}"
        allowed = "a preset, whose `papers` names folders of config/papers; put it into one"
        raise BadInput(f"{where}: found {found}, allowed: {allowed}")


def run_alone(preset: Preset, papers: Mapping[str, Paper], paper: str, run: str) -> dict[str, Paper]:
    """Return one paper with one of the runs that the preset keeps; BadInput has what is there."""
    paper = match_name("paper", paper, papers)
    runs = {name: own for name, own in papers[paper].runs.items() if keeps(preset, paper, name)}
    name = match_name("run", run, runs, f"fedpriv list runs --paper {paper}")
    return {paper: papers[paper].model_copy(update={"runs": {name: runs[name]}})}


def check_free(paper: Paper, planned: Mapping[str, Planned], where: str) -> None:
    """Raise BadInput for a row of a table that is free, ε 0, and whose run learns from private data."""
    for name, table in accuracy_tables(paper.tables).items():
        for row in (row for row in table.rows if row.free):
            for run in dict.fromkeys(table.cell(row, column).run for column in table.columns):
                if run in planned and planned[run].run.learn_from != "public":
                    raise BadInput(
                        f"{where}.tables.{name}.rows.free of {row.cited}: found true with run {run}, "
                        "allowed: with a run that has learn_from public"
                    )


def check_globs(papers: Mapping[str, Paper], globs: Iterable[str], where: str) -> None:
    """Raise BadInput for a glob that means no run."""
    runs = [(paper, run) for paper in papers for run in papers[paper].runs]
    for glob in globs:
        if not any(matches(glob, *run) for run in runs):
            names = ", ".join(f"{paper}/{run}" for paper, run in runs)
            raise BadInput(f"{where}: found {plain(glob)}, allowed: a glob of {names}")


def load_preset(
    path: Path,
    alone: tuple[str, str] | None = None,
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> Plan:
    """Return the plan of a preset file; its papers are in the folder `papers` beside it.

    Of a paper and a run that are asked for `alone`, with these settings, nothing else is planned.
    """
    where = f"{path} with --set" if settings else str(path)
    return make_plan(read_yaml(path), path.parent / "papers", where, alone=alone, settings=settings)
