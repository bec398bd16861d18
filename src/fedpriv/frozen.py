"""Values read from YAML: immutable, no unknown keys, chosen by name from plain dicts."""

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import or_
from reprlib import Repr
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from fedpriv.errors import BadInput

T = TypeVar("T")
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+$")]


class Frozen(BaseModel):
    """An immutable config value; an unknown key is an error that names it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def choice_error(where: str, found: Iterable[str], allowed: str) -> PydanticCustomError:
    """Return the error that says what was found at `where` and what is allowed there."""
    return PydanticCustomError(
        "choice",
        "{where}: found {found}, allowed: {allowed}",
        {"where": where, "found": ", ".join(found) or "nothing", "allowed": allowed},
    )


def alone(key: str, written: Any) -> BeforeValidator:
    """Return the validator that reads what stands alone, without any key, as `{key: VALUE}`.

    `written` is the type of both forms, for JSON schemas.
    """

    def build(value: Any) -> Any:
        return value if isinstance(value, dict | Frozen) else {key: value}

    return BeforeValidator(build, json_schema_input_type=written)


def chosen_from(registry: Mapping[str, type[Frozen]], key: str = "name") -> BeforeValidator:
    """Return the validator that reads `{key: NAME, ...}` as the registry's class of that name."""

    def build(value: Any) -> Any:
        if isinstance(value, str):
            value = {key: value}
        if not isinstance(value, dict):
            return value
        found = value.get(key, "nothing")
        found = found if isinstance(found, str) else short_repr(found)
        kind = registry.get(found)
        if kind is None:
            raise choice_error(key, [found], ", ".join(sorted(registry)))
        return kind.model_validate(value)

    names = Annotated[str, WithJsonSchema({"enum": [*registry]})]
    return BeforeValidator(build, json_schema_input_type=reduce(or_, registry.values(), names))


def parse(build: Callable[[Any], T], value: Any, where: str) -> T:
    """Validate `value`, or raise BadInput naming `where`, the key, what was found, what is allowed."""
    try:
        return build(value)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        message = first["msg"]
        if first["type"] == "extra_forbidden":
            message = f"unknown key (found {short_repr(first['input'])}); allowed: the keys in docs/config.md"
        elif first["type"] == "missing":
            message = "is required but was not given"
        elif first["type"] != "choice":
            message = f"found {short_repr(first['input'])}; {message[0].lower()}{message[1:]}"
        raise BadInput(f"{where}: {key + ': ' if key else ''}{message}") from None


def short_repr(value: Any) -> str:
    """Return a value as a message shows it: short, whatever a hostile file makes of it."""
    short = Repr()
    short.maxlevel, short.maxstring, short.maxother = 2, 100, 100
    return short.repr(value)
