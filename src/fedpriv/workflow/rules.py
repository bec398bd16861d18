"""What Snakemake's rules read: rows of arrays, trainings, steps after training, and the command of a step.

Rows are plain data, computed from the plan while Snakemake parses; nothing is written then. What outdates a
step after training is the digest of its settings, which stands in the name of a file that its rule needs. It
covers the settings of the steps before it, too: where one of those fails, its outputs are gone, and what an
earlier call made of them is not taken for finished.
"""

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fedpriv.config.files import (
    AUDITED,
    COLLECTED,
    TAKEN,
    audited_runs,
    collected_files,
    cuts,
    delta_marks,
    figure_names,
    figures,
    files,
    findings,
    identity_marks,
    judged_claims,
    report_files,
    run_files,
    sources,
    stored_for,
    tables,
    targets,
    torn_runs,
)
from fedpriv.config.jobs import Dealing, Job, kept_index, partition_jobs, read_rows, training_jobs
from fedpriv.config.plan import Plan, RunKey, arrays_id
from fedpriv.data import image_datasets
from fedpriv.data.features import FEATURES_VERSION
from fedpriv.frozen import RESULTS_VERSION
from fedpriv.paper.paper import read_yaml
from fedpriv.report import RENDER_VERSION
from fedpriv.store.files import digest


class Arrays(NamedTuple):
    """A file of arrays: what it is made of, and what that asks of a machine."""

    sources: list[str]
    group: str  # features are hours on a GPU, all else is seconds
    threads: int
    gpu: int
    minutes: int
    version: int  # raised where what is made is other arrays


class Step(NamedTuple):
    """A step after training, or the taking of stored runs: what goes in and out, and what outdates it."""

    paper: str
    words: list[str]
    inputs: list[str]
    outputs: list[str]  # where no wildcard has them
    settings: Any  # a digest, or marks


class Rows(NamedTuple):
    """All rows of a plan, each kind by what its rule knows of it."""

    preset: str
    packed_by: Path | None  # the index that jobs of several runs are packed by is kept there
    arrays: dict[str, Arrays]
    partitions: dict[str, str]  # id -> file of arrays
    trainings: dict[str, Job]  # PAPER/RUN/SEED -> the job of that run alone
    together: list[Job]  # several runs in one process
    dealings: list[Dealing]  # the partitions of those
    taken: list[Step]  # of stored runs
    papers: dict[tuple[str, str], Step]  # step and paper -> row; the report is of the paper ""
    targets: list[str]

    @property
    def names(self) -> dict[str, list[str]]:
        """Return the rules of jobs of several runs, by the rule that makes the same files of one."""
        return {
            "partition": [row.name for row in self.dealings],
            "train": [f"train_{row.name}" for row in self.together],
            "account": [f"account_{row.name}" for row in self.together],
        }

    def training(self, wildcards: Any) -> Job:
        """Return the job of the one run that a rule's wildcards name."""
        return self.trainings[f"{wildcards.paper}/{wildcards.run}/{wildcards.seed}"]

    def rendered(self, step: str) -> list[Step]:
        """Return the rows of a step, paper by paper."""
        return [row for (name, _), row in self.papers.items() if name == step]


def read_plan(plan: Plan, root: Path) -> Rows:
    """Return the rows of a plan whose results are below `root`: elsewhere than here jobs share no disk."""
    separate = root != Path()
    stored = stored_for(plan, Path("results/reference"), root)
    rows = read_rows(plan, stored, root, kept=not separate)
    alone = training_jobs(plan, (row._replace(job=f"{row.run}/seed{row.seed}") for row in rows))
    packed = plan.preset.speed.runs_per_job > 1
    together = training_jobs(plan, rows) if packed else []
    return Rows(
        plan.preset.preset,
        kept_index(plan) if together and not separate else None,
        {name: arrays_row(plan, name) for name in [*plan.features(), *plan.own_data(), *image_datasets()]},
        {name: f"resources/{arrays_id(run)}.npz" for name, run in plan.partitions().items()},
        {f"{job.paper}/{job.runs[0].word}": job for job in alone},
        together,
        partition_jobs(plan, together),
        list(taken_rows(plan, stored)),
        step_rows(plan, stored, separate),
        [*targets(plan), *torn_runs(plan, stored, root), *([] if separate else settings_files(plan))],
    )


def arrays_row(plan: Plan, name: str) -> Arrays:
    """Return the row of a file of arrays: photographs become features on a GPU."""
    features = plan.features()
    photographs = name in features and features[name].model.reads == "features"
    return Arrays(
        sources(plan, name),
        group="features" if name in features else "data",
        threads=(plan.preset.speed.threads or 2) if name in features else 1,
        gpu=int(photographs and plan.preset.speed.device != "cpu"),
        minutes=120 if photographs else 30,
        version=FEATURES_VERSION if name in features else RESULTS_VERSION,
    )


def taken_rows(plan: Plan, stored: Mapping[RunKey, Path]) -> Iterator[Step]:
    """Yield the row of each paper that has stored runs: they are accounted where they are."""
    for paper in plan.papers:
        if runs := [key for key in plan.keys(paper) if key in stored]:
            yield Step(
                paper,
                [paper, *(key.word for key in runs)],
                [str(stored[key]) for key in runs],
                files(plan, runs, *TAKEN),
                [identity_marks(plan, runs), delta_marks(runs)],
            )


def step_rows(plan: Plan, stored: Mapping[RunKey, Path], separate: bool) -> dict[tuple[str, str], Step]:
    """Return the rows of the steps after training, by step and paper.

    What audits and what collects reads the runs themselves. Where jobs are `separate` they see only what is
    declared, so the seals of distances are, too; no file has the digest of their settings there.
    """
    rows: dict[tuple[str, str], Step] = {}

    def add(step: str, paper: str, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        settings = plan_digest(plan, step, paper)
        named = [] if separate else [settings_file(plan, step, paper)]
        rows[step, paper] = Step(paper, [paper], [*inputs, *named], [*outputs], settings)

    for paper, declared in plan.papers.items():
        collected, runs = collected_files(plan, paper), plan.keys(paper)
        shown = [*declared.tables.values(), *judged_claims(plan, paper)]
        drawn = figure_names(plan, paper).values()
        add("audit", paper, run_files(plan, audited_runs(plan, paper), stored, *AUDITED), ())
        add("collect", paper, run_files(plan, runs, stored, *(AUDITED if separate else COLLECTED)), collected)
        add("tables", paper, [*collected, *findings(plan, paper, shown)], tables(plan, paper))
        add("figures", paper, [*collected, *findings(plan, paper, drawn)], figures(plan, paper))
    add("report", "", report_files(plan), [f"results/{plan.preset.preset}/report.html"])
    return rows


def settings_file(plan: Plan, step: str, paper: str = "") -> str:
    """Return the file whose name has the digest of the settings of a step."""
    folder = Path("results", plan.preset.preset, paper, "plan")
    return str(folder / f"{step}-{plan_digest(plan, step, paper)}.txt")


def settings_files(plan: Plan) -> list[str]:
    """Return the files with the settings of what a preset ends in.

    They are asked for themselves, for Snakemake does not miss an input that nothing new is made from.
    """
    steps = {paper: ["collect", "tables", "figures"] for paper in plan.papers}
    for paper, names in steps.items():
        if findings(plan, paper):
            names.append("audit")
    if not plan.preset.show:
        steps[""] = ["report"]
    return [settings_file(plan, step, paper) for paper, names in steps.items() for step in names]


def command(config: Mapping[str, Any], files: Sequence[str | Path], root: Path) -> Callable[..., str]:
    """Return the function from words to the command of a rule: a step of the preset in the last of `files`.

    What the config says else, as `--config` does, is set again, and the `root` where it is not the current
    folder. What a step begins is on stdout, and all else in the log of its rule. The step replaces its shell,
    which would die of a signal first.
    """
    own = read_yaml(Path(files[-1]))
    others = {key: value for key, value in config.items() if own.get(key) != value}
    settings = [word for key, value in others.items() for word in ("--set", f"{key}={json.dumps(value)}")]
    where = [] if root == Path() else ["--root", str(root)]
    preset = shlex.join([str(files[-1]), *settings, *where]).replace("{", "{{").replace("}", "}}")
    return lambda step, words="": f"exec fedpriv --debug step {step} {preset} {words} 2> {{log}}"


def share_settings(settings: Any, rules: Mapping[str, Iterable[str]]) -> None:
    """Let `--set-resources` and `--set-threads` of a rule hold for the rules of its jobs, by their names.

    `settings` are those of Snakemake's resources, before its first rule is made.
    """
    for option in ("overwrite_resources", "overwrite_threads"):
        given = dict(getattr(settings, option))
        for rule, names in rules.items():
            if rule in given:
                given |= dict.fromkeys(names, given[rule])
        setattr(settings, option, given)


def plan_digest(plan: Plan, step: str, paper: str = "") -> str:
    """Return a digest of all settings that change the files of a step after training."""
    return digest([RENDER_VERSION, plan_part(plan, step, paper)])


def plan_part(plan: Plan, step: str, paper: str) -> Any:
    """Return the part of a plan that a step after training reads, with those of the steps before it."""
    if step in ("audit", "collect"):
        runs = plan.keys(paper) if step == "collect" else audited_runs(plan, paper)
        marks = zip(runs, identity_marks(plan, runs), delta_marks(runs), strict=True)
        return [{key.word: mark for key, *mark in marks}, cuts(plan, paper)]
    if step == "tables":
        parts = plan.papers[paper].model_dump(mode="json", include={"tables", "claims"})
        return [plan_part(plan, "collect", paper), {"judged": not plan.preset.show, **parts}]
    if step == "figures":
        figures = figure_names(plan, paper).items()
        parts = {name: figure.model_dump(mode="json") for name, figure in figures}
        return [plan_part(plan, "collect", paper), parts]
    keys = {"title", "authors", "year", "url", "tables", "figures", "notes"}
    papers = [[spec.model_dump(mode="json", include=keys), list(spec.runs)] for spec in plan.papers.values()]
    rendered = [plan_part(plan, step, paper) for paper in plan.papers for step in ("tables", "figures")]
    return [plan.preset.model_dump(mode="json", exclude={"speed", "mirrors", "again"}), papers, rendered]
