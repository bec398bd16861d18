"""Presets and papers: two YAML files become the finite list of runs that the workflow asks for.

Torch-free and quick to import: Snakemake re-parses the plan in every job.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from fedpriv.config.names import arrays_id, partition_id
from fedpriv.config.origins import Layers, origins, said_at
from fedpriv.config.preset import Preset
from fedpriv.config.run import Run
from fedpriv.data import DATASETS
from fedpriv.data.own import Npz, Torchvision
from fedpriv.errors import BadInput, plain, require_known
from fedpriv.frozen import parse
from fedpriv.models import MODELS
from fedpriv.paper.paper import Paper, folder_of, load_paper
from fedpriv.paper.read import merge, read_yaml


class Planned(NamedTuple):
    """A run and the dataset that it stands in for, if it does."""

    run: Run
    stand_in_for: str | None


class Plan(NamedTuple):
    """Everything a preset asks for."""

    preset: Preset
    papers: dict[str, Paper]
    planned: dict[str, dict[str, Planned]]
    folders: Mapping[str, Path] = {}  # of each paper

    @property
    def seeds(self) -> range:
        return range(self.preset.seeds)

    @property
    def runs(self) -> dict[str, dict[str, Run]]:
        """Return the runs by paper and name."""
        return {paper: {name: one.run for name, one in runs.items()} for paper, runs in self.planned.items()}

    def all_runs(self) -> Iterator[Run]:
        return (run for runs in self.runs.values() for run in runs.values())

    def identities(self, paper: str, run: str) -> dict[int, str]:
        """Return by seed what tells a run from every other: the hash of all that its training depends on."""
        return {seed: self.planned[paper][run].run.identity(run, seed) for seed in self.seeds}

    def datasets(self) -> list[str]:
        return sorted({run.data for run in self.all_runs()})

    def own_data(self) -> dict[str, Npz | Torchvision]:
        """Return data that a run has of its own, by the name of their arrays."""
        found = (run.dataset for run in self.all_runs())
        return {one.name: one for one in found if not isinstance(one, str)}

    def partitions(self) -> dict[str, Run]:
        """Return one run of each partition, by id: runs with equal data, law and hold-out share its files."""
        return {partition_id(run): run for run in self.all_runs()}

    def features(self) -> dict[str, Run]:
        """Return one run of each file of features, by `arrays_id`."""
        wanted = {arrays_id(run): run for run in self.all_runs() if run.model.features}
        return {name: run for name, run in wanted.items() if isinstance(run.dataset, str)}

    def labels(self, paper: str, name: str) -> dict[str, Any]:
        """Return what a run's summary says beside its results, among it how it is counted."""
        return {
            "paper": paper,
            "preset": self.preset.preset,
            "data": {"stand_in_for": self.planned[paper][name].stand_in_for},
            "account": self.planned[paper][name].run.account.model_dump(),
        }


def wrong_dataset(run: Run) -> str:
    """Return why a dataset is not known, or does not give what the model reads, or the empty string.

    What data of one's own are is known when they are read.
    """
    if not isinstance(run.dataset, str):
        return ""
    if run.dataset not in DATASETS:
        return f"found {plain(run.dataset)}, allowed: {', '.join(DATASETS)}"
    if DATASETS[run.dataset].gives != run.model.reads:
        datasets = [name for name, dataset in DATASETS.items() if dataset.gives == run.model.reads]
        models = [name for name, model in MODELS.items() if model.reads == DATASETS[run.dataset].gives]
        return (
            f"found {run.dataset} with model {run.model.name}, allowed: with that model "
            f"{', '.join(sorted(datasets))}; with that dataset model {', '.join(sorted(models))}"
        )
    return ""


def wrong_law(run: Run) -> str:
    """Return why data whose writers nobody knows cannot be dealt by writer, or the empty string."""
    known = DATASETS.get(run.data)
    if run.partition.by_owner and known and not known.writers:
        dealt = ", ".join(sorted(name for name, dataset in DATASETS.items() if dataset.writers))
        return (
            f"found {getattr(run.partition, 'law', '')} with {run.data}, allowed: that law with "
            f"{dealt}; with that dataset a law that does not ask who wrote what"
        )
    return ""


# Path of a key -> what is wrong with it that only the data and the run together show.
WRONG = {("dataset",): wrong_dataset, ("partition", "law"): wrong_law}


def matches(glob: str, paper: str, run: str) -> bool:
    """Return whether a preset's glob means a run: `*_n100_*` of any paper, or `bdp2019/*_n100_*` of one."""
    return fnmatchcase(f"{paper}/{run}" if "/" in glob else run, glob)


def laid(layers: Layers, paper: str, name: str) -> dict[str, Any]:
    """Return what a run says when everything is laid over everything, marked as the layers are."""
    said = merge(layers.defaults, layers.runs[name])
    if "dataset" in said:
        said = said | {"dataset": layers.stand_ins.get(str(said["dataset"]), said["dataset"])}
    for glob, patch in layers.patches.items():
        if matches(glob, paper, name):
            said = merge(said, patch)
    return said


def plan_runs(preset: Preset, paper: Paper, folder: Path, where: str) -> dict[str, Planned]:
    """Return the runs of `paper`, read from `folder`, that `preset` keeps, patched and with its stand-ins.

    What is wrong with a key is BadInput that names who says it.
    """
    layers = Layers(paper.defaults, paper.runs, preset.stand_ins, preset.patches)
    planned = {}
    for name, own in paper.runs.items():
        if not any(matches(glob, paper.paper, name) for glob in preset.only):
            continue

        def place(path: Sequence[object], name: str = name) -> str:
            by = said_at(
                laid(origins(folder, preset.stand_ins, preset.patches, where), paper.paper, name), path
            )
            return f"{where}: {paper.paper}.runs.{name}{f' ({by})' if by else ''}"

        run = parse(Run.model_validate, laid(layers, paper.paper, name), place)
        for path, wrong in WRONG.items():
            if problem := wrong(run):
                raise BadInput(f"{place(path)}: {'.'.join(path)}: {problem}")
        wanted = own.get("dataset", paper.defaults.get("dataset"))
        planned[name] = Planned(run, wanted if isinstance(wanted, str) and wanted != run.dataset else None)
    if not planned:
        found = ", ".join(map(plain, preset.only)) or "nothing"
        raise BadInput(f"{where}: only: found {found}, allowed: globs that keep a run of {paper.paper}")
    return planned


def shown(papers: Mapping[str, Paper], asked: Sequence[str], where: str) -> dict[str, Paper]:
    """Return the papers of which tables or figures are `asked` for, with nothing else."""
    there = [f"{name}/{one}" for name, paper in papers.items() for one in (*paper.tables, *paper.figures)]
    require_known(f"{where}: show", asked, there)
    names = {name: [one.partition("/")[2] for one in asked if one.startswith(f"{name}/")] for name in papers}
    return {name: papers[name].showing(some) for name, some in names.items() if some}


def make_plan(
    config: Mapping[str, Any],
    papers: Path,
    where: str = "config",
    files: Iterable[str] = (),
    more: Iterable[Path] = (),
) -> Plan:
    """Return the plan of a preset given as data; `papers` is the folder of the papers' YAML files.

    Others may be in `more` folders, in the preset's own `paper_folders`, and in installed packages.

    Where somebody else has read it from `files`, our own reader may still refuse them: of a key that stands
    twice Snakemake takes the last.
    """
    for file in files:
        read_yaml(Path(file))
    preset = parse(Preset.model_validate, dict(config), where)
    asked = [*more, *map(Path, preset.paper_folders)]
    for folder in asked:
        if not folder.is_dir():
            raise BadInput(f"{where}: paper_folders: found no folder {folder}, allowed: folders of papers")
    folders = [*asked, papers]
    homes = {name: folder_of(name, folders) for name in preset.papers}
    read = {name: load_paper(name, home) for name, home in homes.items()}
    runs = [(paper, run) for paper in read for run in read[paper].runs]
    for key, globs in (("only", preset.only), ("patches", preset.patches)):
        for glob in globs:
            if not any(matches(glob, *run) for run in runs):
                names = ", ".join(f"{paper}/{run}" for paper, run in runs)
                raise BadInput(f"{where}: {key}: found {plain(glob)}, allowed: a glob of {names}")
    read = shown(read, preset.show, where) if preset.show else read
    at = {name: homes[name] / name for name in read}
    planned = {name: plan_runs(preset, paper, at[name], where) for name, paper in read.items()}
    return Plan(preset, read, planned, at)


def load_preset(path: Path, more: Iterable[Path] = (), patches: Mapping[str, Any] | None = None) -> Plan:
    """Return the plan of a preset file; its papers are in the folder `papers` beside it, and in `more`.

    `patches` by run are laid over the preset's own.
    """
    config, where = read_yaml(path), str(path)
    if patches:
        config = config | {"patches": merge(config.get("patches") or {}, patches)}
        where = f"{path} with --set"
    return make_plan(config, path.parent / "papers", where, more=more)
