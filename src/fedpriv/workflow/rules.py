"""What rules of Snakemake share: the command of a step, and what is set for one and meant for more."""

import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fedpriv.paper.read import read_yaml


class Command(NamedTuple):
    """The command of a step, which plans what Snakemake has: a file, and what its config says else."""

    preset: str

    def __call__(self, step: str, words: str = "") -> str:
        """Return what a rule gives the shell: errors and all that is said on the way go to its log."""
        return " ".join(("fedpriv --debug step", step, self.preset, words, "2> {log}"))


def command(config: Mapping[str, Any], files: Iterable[str | Path]) -> Command:
    """Return the command for a config that was read from `files`, perhaps with `--config` over it."""
    path = Path(list(files)[-1])
    said = read_yaml(path)
    others = {key: value for key, value in config.items() if key not in said or said[key] != value}
    settings = [word for key, value in others.items() for word in ("--set", f"{key}={json.dumps(value)}")]
    return Command(shlex.join([str(path), *settings]).replace("{", "{{").replace("}", "}}"))


def as_of(workflow: Any, rule: str, name: str) -> str:
    """Return the name of a rule that is to come, to which all that is set for `rule` is now set.

    That is `--set-resources`, `--set-threads` and `--groups`, on the command line or in a profile.
    `workflow` is Snakemake's, of which no other way in is public.
    """
    settings, groups = workflow.resource_settings, workflow.group_settings
    for said in (settings._parsed_overwrite_resources, settings._parsed_overwrite_threads):
        if rule in said:
            said[name] = said[rule]
    if rule in groups.overwrite_groups:
        groups.overwrite_groups = {**groups.overwrite_groups, name: groups.overwrite_groups[rule]}
    return name
