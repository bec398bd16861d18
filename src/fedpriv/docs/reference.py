"""JSON schemas of the YAML files for editors: every key, what it may be, and the docstring below it.

`python -m fedpriv.docs.reference` writes the schemas to config/schema; the Makefile does so after every
installation.
"""

import ast
import inspect
import json
import textwrap
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from fedpriv.config.plan import Preset
from fedpriv.config.run import Run
from fedpriv.frozen import Frozen
from fedpriv.paper.paper import DeclaredRun, Paper, Part
from fedpriv.paper.tables import TABLES
from fedpriv.store.files import writing


def remarks(cls: type[Frozen]) -> dict[str, str]:
    """Return the docstring below each key, those of base classes too.

    pydantic would read them for every class that is made: half again what `import fedpriv.config.plan` takes.
    """
    texts: dict[str, str] = {}
    for base in (base for base in reversed(cls.__mro__) if issubclass(base, Frozen) and base is not Frozen):
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        for key, remark in pairwise(tree.body if isinstance(tree, ast.ClassDef) else ()):
            match key, remark:
                case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                    texts[name] = " ".join(text.split())
                case _:
                    pass
    return texts


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
        kinds = [key for key, subschema in made.get("properties", {}).items() if "const" in subschema]
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


def mapping(properties: Schema, required: Iterable[str], defs: Schema) -> Schema:
    """Return the schema of a mapping with no other keys."""
    made = {"type": "object", "properties": properties, "additionalProperties": False, "$defs": defs}
    return made | {"required": [key for key in required if key in properties]}


def schemas() -> dict[str, Schema]:
    """Return the schema of a preset and of each file of a paper, by name."""
    # A fragment of a run, a part, and a run as a paper declares it: of all of them nothing is required.
    run = Run.model_json_schema(schema_generator=Fragment)
    fragments = run.pop("$defs") | {"Run": run}
    keys = {key: {"$ref": f"#/$defs/Run/properties/{key}"} for key in run["properties"]}
    for cls in (Part, DeclaredRun):
        fragment = cls.model_json_schema(schema_generator=Fragment)
        fragments[cls.__name__] = fragment | {
            "properties": fragment["properties"] | keys,
            "additionalProperties": False,
        }

    def map_to(name: str) -> Schema:
        return {"type": "object", "additionalProperties": {"$ref": f"#/$defs/{name}"}}

    preset = Preset.model_json_schema(schema_generator=Whole)
    paper = Paper.model_json_schema(schema_generator=Whole)
    elsewhere = {key for keys in KEYS.values() for key in keys}
    files = {"paper": [key for key in paper["properties"] if key not in elsewhere], **KEYS}
    made = {
        name: mapping({key: paper["properties"][key] for key in own}, paper["required"], paper["$defs"])
        for name, own in files.items()
    }
    runs = made["runs"]["properties"] | {"defaults": {"$ref": "#/$defs/Run"}, "runs": map_to("DeclaredRun")}
    made["runs"] = mapping(runs, ["runs"], fragments)
    for kind in TABLES.values():  # what else is required may stand in table_defaults
        paper["$defs"][kind.__name__]["required"] = ["kind"]
    patched = preset["properties"] | {"patches": map_to("Run")}
    made["preset"] = mapping(patched, preset["required"], preset["$defs"] | fragments)
    return made


if __name__ == "__main__":
    folder = Path("config/schema")
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in schemas().items():
        with writing(folder / f"{name}.json") as path:
            path.write_text(json.dumps(schema, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
