"""What runs were set to: their configs, as the dotted paths and the words of their keys."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fedpriv.report.results import Results


def config_of(results: Results, run: str) -> dict[str, Any]:
    """Return the config of a run."""
    return json.loads(results.fact(run, "config"))


def flattened(config: Mapping[str, Any], above: str = "") -> dict[str, str]:
    """Return dotted path -> value, as text."""
    found = {}
    for key, value in config.items():
        path = f"{above}{key}"
        found |= (
            flattened(value, f"{path}.") if isinstance(value, dict) else {path: json.dumps(value).strip('"')}
        )
    return found


def differing(configs: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the keys in which those of the flattened configs differ that have them.

    What a config does not have is said by the name of another model, scheme or work.
    """
    keys = dict.fromkeys(key for config in configs for key in config)
    return [key for key in keys if len({config[key] for config in configs if key in config}) > 1]
