"""Every key of the YAML files, read off the schema and the docstrings below its keys; schemas for editors.

`python -m fedpriv.docs.reference` writes the schemas to config/schema; the Makefile does so after every
installation.
"""

import ast
import functools
import inspect
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from pydantic.json_schema import GenerateJsonSchema

from fedpriv.config.plan import Preset
from fedpriv.config.run import Run
from fedpriv.docs.columns import head, line
from fedpriv.frozen import Frozen
from fedpriv.local.work import LOCAL_WORK
from fedpriv.mechanisms.sampling import COHORTS
from fedpriv.models import MODELS
from fedpriv.paper.figures import FIGURES
from fedpriv.paper.paper import DeclaredRun, Paper, Part
from fedpriv.paper.tables import TABLES
from fedpriv.partition import PARTITIONS
from fedpriv.schemes import SCHEMES
from fedpriv.store.files import writing

# Key -> the kinds it is chosen from, and the key below it that chooses.
CHOICES: dict[str, tuple[Mapping[str, Any], str]] = {
    "partition": (PARTITIONS, "law"),
    "model": (MODELS, "name"),
    "scheme": (SCHEMES, "name"),
    "cohort": (COHORTS, "law"),
    "local": (LOCAL_WORK, "name"),
    "tables": (TABLES, "kind"),
    "figures": (FIGURES, "kind"),
}
BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}

HEAD = """\
# Every key of the YAML files

This page is generated from the schema by `make docs`; do not edit it.

A preset (`config/<preset>.yaml`) says what is built and how large; a paper (`config/papers/<paper>/*.yaml`)
says what was published. An unknown key is an error that names it. Where a kind is chosen by name, the name
alone means that kind with its defaults. A spend may be written in words, as `bayesian product remove_mean`.
"""


def allowed(values: dict[str, Any]) -> str:
    """Return the values a JSON schema allows, in words."""
    if "$ref" in values:
        name = values["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "const" in values or "enum" in values:
        return ", ".join(
            f"`{value}`" if value else "empty" for value in values.get("enum", [values.get("const")])
        )
    if "anyOf" in values:
        return " or ".join(allowed(one) for one in values["anyOf"])
    kind = values.get("type", "anything")
    if kind == "array":
        return f"list of {allowed(values.get('items', {}))}"
    if kind == "object":
        inner = next(iter(values.get("patternProperties", {}).values()), values.get("additionalProperties"))
        return f"map to {allowed(inner)}" if isinstance(inner, dict) else "map"
    limits = [f"{sign} {values[bound]:g}" for bound, sign in BOUNDS.items() if bound in values]
    pattern = f" like `{values['pattern']}`" if "pattern" in values else ""
    return f"{kind}{pattern} {' and '.join(limits)}".strip()


def remarks(cls: type[Frozen]) -> dict[str, str]:
    """Return the docstring below each key, those of base classes too.

    pydantic would read them for every class that is made: half again what `import fedpriv.config.plan` takes.
    """
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if issubclass(base, Frozen) and base is not Frozen:
            found |= said(inspect.getsource(base))
    return found


def said(source: str) -> dict[str, str]:
    """Return the docstrings below the keys in the source of a class."""
    found: dict[str, str] = {}
    (cls,) = ast.parse(textwrap.dedent(source)).body
    for key, remark in pairwise(cls.body if isinstance(cls, ast.ClassDef) else ()):
        match key, remark:
            case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                found[name] = " ".join(text.split())
            case _:
                pass
    return found


def summary(cls: type[Frozen]) -> str:
    """Return the first paragraph of the class's own docstring."""
    own = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    return " ".join(own.split("\n\n")[0].split())


@functools.cache
def schema(cls: type[Frozen]) -> dict[str, Any]:
    """Return the JSON schema of `cls`."""
    return cls.model_json_schema()


def choices(cls: type[Frozen], key: str) -> tuple[Mapping[str, Any], str]:
    """Return the kinds that `key` of `cls` is chosen from and the key that chooses; no kinds if plain."""
    refers = "$ref" in str(schema(cls)["properties"][key])
    return CHOICES[key] if refers and key in CHOICES else ({}, "")


def keys(cls: type[Frozen], skip: str = "") -> str:
    """Return the table of the keys of `cls`, but for the one that chose it."""
    remark = remarks(cls)
    rows = []
    for key, spec in schema(cls).get("properties", {}).items():
        if key == skip:
            continue
        kinds, _ = choices(cls, key)
        if kinds:
            named = ", ".join(f"[`{name}`](#{key}-{name})" for name in kinds)
            values = f"map to {named}" if spec.get("type") == "object" else named
        else:
            values = allowed(spec)
        default = "required" if key in schema(cls).get("required", ()) else f"`{default_of(cls, key)}`"
        rows.append(line([f"`{key}`", values, default, remark.get(key, "")]))
    return (head(["key", "allowed", "default", ""]) + "".join(rows)).strip() if rows else "No keys."


def default_of(cls: type[Frozen], key: str) -> str:
    """Return a default as YAML would say it, on one line."""
    value = cls.model_fields[key].get_default(call_default_factory=True)
    if isinstance(value, Frozen):
        value = value.model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, tuple):
        value = list(value)
    return yaml.safe_dump(value, default_flow_style=True, allow_unicode=True).removesuffix("...\n").strip()


def nested(cls: type[Frozen]) -> Iterator[type[Frozen]]:
    """Yield the config classes that the keys of `cls` refer to by annotation."""
    for key, field in cls.model_fields.items():
        if not choices(cls, key)[0]:
            yield from parts(field.annotation)


def parts(annotation: Any) -> Iterator[type[Frozen]]:
    """Yield the config classes inside a type annotation."""
    if isinstance(annotation, type) and issubclass(annotation, Frozen):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from parts(inner)


def sections(cls: type[Frozen], seen: set[type[Frozen]], title: str, skip: str = "") -> Iterator[str]:
    """Yield the section of `cls` and, after it, those of everything it is the first to mention."""
    seen.add(cls)
    yield "\n\n".join(part for part in (f"## {title}", summary(cls), keys(cls, skip)) if part) + "\n"
    for key in cls.model_fields:
        kinds, by = choices(cls, key)
        for name, kind in kinds.items():
            if kind not in seen:
                yield from sections(kind, seen, f"{key}: {name}", by)
    for inner in nested(cls):
        if inner not in seen:
            yield from sections(inner, seen, inner.__name__)


def page() -> str:
    """Return docs/config.md."""
    seen: set[type[Frozen]] = set()
    pages = [part for cls in (Preset, Paper, DeclaredRun, Run) for part in sections(cls, seen, cls.__name__)]
    return "\n".join([HEAD, *pages])


Schema = dict[str, Any]

# File of a paper -> its keys; all others are in paper.yaml.
KEYS = {
    "runs": ("defaults", "parts", "runs"),
    "tables": ("table_defaults", "tables"),
    "figures": ("figures",),
    "claims": ("claims",),
}


class Whole(GenerateJsonSchema):
    """Every key with the docstring below it; where a kind is chosen, the key that chooses is required."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def dict_schema(self, schema: Any) -> Schema:
        made = super().dict_schema(schema)
        return made | {"additionalProperties": False} if "patternProperties" in made else made

    def model_schema(self, schema: Any) -> Schema:
        made = super().model_schema(schema)
        del made["title"]
        for key, remark in remarks(schema["cls"]).items():
            if key in made.get("properties", ()):
                made["properties"][key]["description"] = remark
        kinds = [key for key, one in made.get("properties", {}).items() if "const" in one]
        takes_arguments = kinds and made.get("additionalProperties")
        if required := [*(() if takes_arguments else kinds), *made.get("required", ())]:
            made["required"] = required
        return made | (
            {"anyOf": [{"required": [key]} for key in (*kinds, *required)]} if takes_arguments else {}
        )


class Fragment(Whole):
    """The same of what is laid over something: nothing is required."""

    def model_schema(self, schema: Any) -> Schema:
        made = super().model_schema(schema)
        made.pop("required", None)
        return made


def laid_over() -> Schema:
    """Return the definitions of a fragment of a run, of a part, and of a run as a paper declares it."""
    run = Run.model_json_schema(schema_generator=Fragment)
    defs = run.pop("$defs") | {"Run": run}
    keys = {key: {"$ref": f"#/$defs/Run/properties/{key}"} for key in run["properties"]}
    for cls in (Part, DeclaredRun):
        made = cls.model_json_schema(schema_generator=Fragment)
        defs[cls.__name__] = made | {"properties": made["properties"] | keys, "additionalProperties": False}
    return defs


def map_to(name: str) -> Schema:
    """Return the schema of a map from any name to a definition."""
    return {"type": "object", "additionalProperties": {"$ref": f"#/$defs/{name}"}}


def mapping(properties: Schema, required: Iterable[str], defs: Schema) -> Schema:
    """Return the schema of a mapping with no other keys, and with those definitions that it refers to."""
    found: Schema = {}
    todo = [properties]
    while todo:
        for name in re.findall(r'"#/\$defs/(\w+)', json.dumps(todo.pop())):
            if name not in found:
                found[name] = defs[name]
                todo.append(defs[name])
    return {
        "type": "object",
        "properties": properties,
        "required": [key for key in required if key in properties],
        "additionalProperties": False,
        "$defs": dict(sorted(found.items())),
    }


def schemas() -> dict[str, Schema]:
    """Return the schema of a preset and of each file of a paper, by name."""
    fragments = laid_over()
    preset = Preset.model_json_schema(schema_generator=Whole)
    paper = Paper.model_json_schema(schema_generator=Whole)
    elsewhere = {key for keys in KEYS.values() for key in keys}
    files = {"paper": [key for key in paper["properties"] if key not in elsewhere], **KEYS}
    made = {
        name: mapping({key: paper["properties"][key] for key in keys}, paper["required"], paper["$defs"])
        for name, keys in files.items()
    }
    runs = made["runs"]["properties"] | {"defaults": {"$ref": "#/$defs/Run"}, "runs": map_to("DeclaredRun")}
    made["runs"] = mapping(runs, ["runs"], fragments)
    for kind in TABLES.values():  # what else is required may stand in table_defaults
        made["tables"]["$defs"][kind.__name__]["required"] = ["kind"]
    patched = preset["properties"] | {"patches": map_to("Run")}
    made["preset"] = mapping(patched, preset["required"], preset["$defs"] | fragments)
    return made


def write(folder: Path) -> None:
    """Write each schema as `folder`/NAME.json."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, one in schemas().items():
        with writing(folder / f"{name}.json") as path:
            path.write_text(json.dumps(one, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path("config/schema"))
