"""Values read from YAML: immutable, no unknown keys, chosen by name from plain dicts."""

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from fedpriv.errors import BadInput, plain, short_repr

T = TypeVar("T")
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+$", max_length=100)]  # part of a file's

DISCRIMINATORS = ("name", "law")  # keys that say of which kind a part of a run is

# What readers know something by; a number in YAML is the text of its digits.
Label = Annotated[
    str,
    Field(coerce_numbers_to_str=True),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}]}),
]


def _number(value: Any) -> Any:
    """Refuse yes and no, which Python counts with."""
    if isinstance(value, bool):
        raise PydanticCustomError("choice", "found {found}, allowed: a number", {"found": str(value)})
    return value


NUMBER = BeforeValidator(_number)
# What training can count and compute with: memory has no room for more, and float32 no larger numbers.
MOST = 10**9
Count = Annotated[int, Field(ge=1, le=MOST), NUMBER]
CountOrZero = Annotated[int, Field(ge=0, le=MOST), NUMBER]
Thousands = Annotated[int, Field(ge=1, le=10**4), NUMBER]
ThousandsOrZero = Annotated[int, Field(ge=0, le=10**4), NUMBER]
Millions = Annotated[int, Field(ge=1, le=10**6), NUMBER]
Real = Annotated[float, Field(ge=-1e38, le=1e38), NUMBER]
Positive = Annotated[float, Field(ge=1e-38, le=1e38), NUMBER]
PositiveOrZero = Annotated[float, Field(ge=0, le=1e38), NUMBER]
Fraction = Annotated[float, Field(ge=0, le=1), NUMBER]
Below1 = Annotated[float, Field(ge=0, lt=1), NUMBER]
Share = Annotated[float, Field(gt=0, le=1), NUMBER]
Delta = Annotated[float, Field(gt=0, lt=1), NUMBER]


class Frozen(BaseModel):
    """An immutable config value; an unknown key is an error that names it, and so is ∞ or NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _knows(cls, value: Any) -> Any:
        """Refuse an unknown key with those that there are, which pydantic's own error does not say.

        A mapping that says it is of another kind is refused for that.
        """
        known = isinstance(value, dict) and all(
            value.get(key, field.default) == field.default
            for key, field in cls.model_fields.items()
            if key in (*DISCRIMINATORS, "kind") and isinstance(field.default, str)
        )
        if known and cls.model_config.get("extra") == "forbid":
            for key in (key for key in value if key not in cls.model_fields):
                raise PydanticCustomError(
                    "unknown_key",
                    "unknown key (found {found}), allowed: {allowed}",
                    {
                        "unknown": (key,),
                        "found": short_repr(value[key]),
                        "allowed": ", ".join(cls.model_fields) or "none",
                    },
                )
        return value


def unless(default: T) -> T:
    """Return a key with this default, which is written down only where it has another value.

    For keys that are younger than runs: the identity of a run without one stays what it was.
    """
    return Field(default, exclude_if=lambda value: value == default)


def choice_error(where: str, found: Iterable[object], allowed: str) -> PydanticCustomError:
    """Return the error that says what was found at `where` and what is allowed there."""
    return PydanticCustomError(
        "choice",
        "{where}: found {found}, allowed: {allowed}",
        {"where": where, "found": ", ".join(map(plain, found)) or "nothing", "allowed": allowed},
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
        kind = registry.get(found) if isinstance(found, str) else None
        if kind is None:
            raise choice_error(key, [found], ", ".join(sorted(registry)))
        return kind.model_validate(value)

    names = Annotated[str, WithJsonSchema({"enum": [*registry]})]
    return BeforeValidator(build, json_schema_input_type=reduce(or_, registry.values(), names))


# pydantic's kinds of errors of numbers: where it says the limit, and how we do.
LIMITS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}


def parse(build: Callable[[Any], T], value: Any, where: str | Callable[[tuple[int | str, ...]], str]) -> T:
    """Validate `value`, or raise BadInput naming `where`, the key, what was found, what is allowed.

    Where that depends on the key, `where` is a function of its path.
    """
    try:
        return build(value)
    except ValidationError as error:
        first = error.errors()[0]
        path = (*first["loc"], *first.get("ctx", {}).get("unknown", ()))
        key = ".".join(map(plain, path))
        message = first["msg"]
        if first["type"] == "missing":
            message = "is required but was not given"
        elif first["type"] in LIMITS:
            said, words = LIMITS[first["type"]]
            message = f"found {short_repr(first['input'])}, allowed: {words} {first.get('ctx', {})[said]:,}"
        elif first["type"] not in ("choice", "unknown_key"):
            message = f"found {short_repr(first['input'])}; {message[0].lower()}{message[1:]}"
        place = where if isinstance(where, str) else where(path)
        raise BadInput(f"{place}: {key + ': ' if key else ''}{message}") from None
