"""What rules of Snakemake share: the command of a step, and what is set for one and meant for more."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fedpriv.paper.read import read_yaml


def command(config: Mapping[str, Any], files: Sequence[str | Path], root: Path) -> Callable[..., str]:
    """Return what gives rules their commands: a step of the preset in the last of `files`, told some words.

    What the config says else, as `--config` does, is said again, and the `root` where it is not the current
    folder. What a step begins is on stdout, and all else in the log of its rule. The step takes the place of
    its shell, which would die of a signal first.
    """
    said = read_yaml(Path(files[-1]))
    others = {key: value for key, value in config.items() if said.get(key) != value}
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
    for asked in ("_parsed_overwrite_resources", "_parsed_overwrite_threads"):
        said = getattr(settings, asked, {})  # a Snakemake that has it elsewhere still plans
        if rule in said:
            said[name] = said[rule]
    return name
