"""What rules of Snakemake share: the command of a step, what is set for one and meant for more, and plans.

Snakemake looks at the times of files wherever it is started, at all else only where it remembers it. So what
a step after training is told stands in a file, an input of its rule, which is written where it changes. It
has what the steps before it are told, too: where one of those fails, its outputs are gone, and what an
earlier call made of them is not taken for finished.
"""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fedpriv.config.jobs import audited_runs, cuts, figure_names, ledger_marks
from fedpriv.config.plan import Plan
from fedpriv.paper.paper import read_yaml
from fedpriv.report import RENDER_VERSION
from fedpriv.store.files import digest, writing


def command(config: Mapping[str, Any], files: Sequence[str | Path], root: Path) -> Callable[..., str]:
    """Return the function from words to the command of a rule: a step of the preset in the last of `files`.

    What the config says else, as `--config` does, is said again, and the `root` where it is not the current
    folder. What a step begins is on stdout, and all else in the log of its rule. The step takes the place of
    its shell, which would die of a signal first.
    """
    own = read_yaml(Path(files[-1]))
    others = {key: value for key, value in config.items() if own.get(key) != value}
    settings = [word for key, value in others.items() for word in ("--set", f"{key}={json.dumps(value)}")]
    where = [] if root == Path() else ["--root", str(root)]
    preset = shlex.join([str(files[-1]), *settings, *where]).replace("{", "{{").replace("}", "}}")
    return lambda step, words="": f"exec fedpriv --debug step {step} {preset} {words} 2> {{log}}"


def overridden_as(workflow: Any, rule: str, name: str) -> str:
    """Return the name of a rule that is to come, to which what is set for `rule` is now set, too.

    That is `--set-resources` and `--set-threads`, on the command line or in a profile. `workflow` is
    Snakemake's, of which no other way in is public.
    """
    settings = workflow.resource_settings
    for attribute in ("_parsed_overwrite_resources", "_parsed_overwrite_threads"):
        overrides = getattr(settings, attribute, {})  # a Snakemake that has it elsewhere still plans
        if rule in overrides:
            overrides[name] = overrides[rule]
    return name


def plan_files(plan: Plan, separate: bool, step: str, paper: str = "") -> list[str]:
    """Return the file that says what a step after training is told now; a file that says so is left alone.

    Where jobs are `separate` there is none.
    """
    if separate:
        return []
    path = Path("results", plan.preset.preset, paper, "plan", f"{step}.txt")
    text = plan_digest(plan, step, paper)
    if not path.exists() or path.read_text() != text:
        with writing(path) as partial:
            partial.write_text(text)
    return [str(path)]


def plan_digest(plan: Plan, step: str, paper: str = "") -> str:
    """Return a digest of all settings that change the files of a step after training."""
    return digest([RENDER_VERSION, plan_part(plan, step, paper)])


def plan_part(plan: Plan, step: str, paper: str) -> Any:
    """Return the part of a plan that a step after training reads, with those of the steps before it."""
    if step in ("audit", "collect"):
        runs = plan.keys(paper) if step == "collect" else audited_runs(plan, paper)
        marks = zip(runs, *ledger_marks(plan, runs), strict=True)
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
