"""Values read from YAML: immutable, no unknown keys, chosen by name from plain dicts."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, reduce
from importlib.metadata import version
from operator import or_
from typing import Annotated, Any, NamedTuple, TypeVar

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
from pydantic_core import CoreSchema, ErrorDetails, InitErrorDetails, PydanticCustomError, core_schema

from fedpriv.errors import BadInput, plain, short_repr
from fedpriv.registry import Registry, packages

T = TypeVar("T")
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+$", max_length=100)]  # part of a file's

DISCRIMINATORS = ("name", "law")  # keys that say of which kind a part of a run is

# What readers know something by; a number in YAML is the text of its digits.
Label = Annotated[
    str,
    Field(coerce_numbers_to_str=True),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}]}),
]


# As a number is written: YAML takes 010 for 8 and 1:30 for 90, and Python 1e-3_0 for 1e-30.
DECIMAL = re.compile(
    r"[-+]?(?:0|[1-9][0-9]*)?(?:\.[0-9]*)?(?:e[-+]?[0-9]+)?|[-+]?\.?inf|\.?nan", re.ASCII | re.IGNORECASE
)


def _number(value: Any) -> Any:
    """Refuse yes and no, which Python counts with, and what it reads otherwise than its writer."""
    if isinstance(value, bool) or (isinstance(value, str) and _misread(value)):
        raise PydanticCustomError("choice", "found {found}, allowed: a decimal number", {"found": str(value)})
    return value


def _misread(text: str) -> bool:
    """Return True for a text that is a number to Python, but not as people write one."""
    try:
        float(text)
    except ValueError:
        return False
    return not DECIMAL.fullmatch(text.strip())


class OneOf:
    """The mark of a text that is one of these names, for `Annotated`: a `Literal` of what a dict holds."""

    def __init__(self, names: Iterable[str]):
        self.names = [*names]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return core_schema.literal_schema(self.names)


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
Delta = Annotated[float, Field(ge=1e-300, lt=1), NUMBER]  # of a smaller one 1/δ is infinite


class Frozen(BaseModel):
    """An immutable config value; an unknown key is an error that names it, and so is ∞ or NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _knows(cls, value: Any) -> Any:
        """Refuse unknown keys with those that there are, which pydantic's own error does not say.

        A mapping that says it is of another kind is refused for that.
        """
        if not isinstance(value, dict) or cls.model_config.get("extra") != "forbid":
            return value
        if cls._is_of_another_kind(value):
            return value
        if unknown := {key: value[key] for key in value if key not in cls.model_fields}:
            allowed = ", ".join(cls.model_fields) or "none"
            errors = [unknown_key(key, found, allowed) for key, found in unknown.items()]
            raise ValidationError.from_exception_data(cls.__name__, errors)
        return value

    @classmethod
    def _is_of_another_kind(cls, value: Mapping[str, Any]) -> bool:
        """Return True for a mapping whose discriminator has another value than the only one of this class."""
        for key in (*DISCRIMINATORS, "kind"):
            own = cls.model_fields[key].default if key in cls.model_fields else None
            if isinstance(own, str) and value.get(key, own) != own:
                return True
        return False


def unknown_key(key: str, value: object, allowed: str) -> InitErrorDetails:
    """Return the error about a key that is not among those that are allowed."""
    context = {"unknown": (key,), "found": short_repr(value), "allowed": allowed}
    error = PydanticCustomError("unknown_key", "unknown key (found {found}), allowed: {allowed}", context)
    return InitErrorDetails(type=error, input=value)


class RunPart(Frozen):
    """A part of a run: model, scheme, cohort law, ... It knows which runs it cannot be in."""

    def refuses(self, run: Any) -> str:
        """One line on why this `Run` cannot have this part: key, found, allowed; empty: it can."""
        return ""


# Raised when a change of the code changes results, so that no old checkpoint is resumed: see CHANGELOG.md.
RESULTS_VERSION = 2
# Raise it with every change of the accounting that makes another ledger: others are outdated.
ACCOUNT_VERSION = 2


class Deltas(Frozen):
    """The δ at which each unit is counted; changing it never trains a run again."""

    delta: Delta = 1e-5
    """Of clients."""
    instance_delta: Delta = 1e-5
    """Of examples."""

    def of(self, unit: str) -> float:
        """Return the δ of rows about `unit`."""
        return self.instance_delta if unit == "instance" else self.delta

    @property
    def made_with(self) -> str:
        """Mark of a ledger at these δ: the version of the accounting, and the δ."""
        return json.dumps([account_version(), self.model_dump()])

    @staticmethod
    def counted_here(made_with: str) -> bool:
        """Return True for the mark of a ledger of the accounting that is here, at whichever δ."""
        return bool(made_with) and json.loads(made_with)[0] == account_version()


@cache
def account_version() -> list[Any]:
    """Return the version of our accounting, and of each package that may add accountants to it."""
    return [ACCOUNT_VERSION, {name: version(name) for name in sorted(packages())}]


def unless(default: T) -> T:
    """Return a key with this default, which is written down only where it has another value.

    For keys that are younger than runs: the identity of a run without one stays what it was.
    """
    return Field(default, exclude_if=lambda value: value == default)


def choice_error(where: str, words: Iterable[object], allowed: str) -> PydanticCustomError:
    """Return the error that says what was found at `where` and what is allowed there."""
    return PydanticCustomError(
        "choice",
        "{where}: found {found}, allowed: {allowed}",
        {"where": where, "found": ", ".join(map(plain, words)) or "nothing", "allowed": allowed},
    )


def single_value(key: str, written: Any) -> BeforeValidator:
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
        name = value.get(key, "nothing")
        kind = registry.get(name) if isinstance(name, str) else None
        if kind is None:
            if isinstance(registry, Registry) and (beside := registry.beside(str(name))):
                raise PydanticCustomError("choice", "{where}: {beside}", {"where": key, "beside": beside})
            raise choice_error(key, [name], ", ".join(sorted(registry)))
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


class Mistake(NamedTuple):
    """What is wrong with a value that was read, and at which key."""

    path: tuple[int | str, ...]
    text: str  # the key, what was found, what is allowed


def parse(build: Callable[[Any], T], value: Any, where: str | Callable[[tuple[int | str, ...]], str]) -> T:
    """Validate `value`, or raise BadInput naming `where`, the key, what was found, what is allowed.

    Every wrong key has a line. Where that depends on the key, `where` is a function of its path.
    """
    try:
        return build(value)
    except ValidationError as error:
        file = where if callable(where) else lambda _: where
        raise BadInput(*(f"{file(path)}: {text}" for path, text in mistakes(error, value))) from None


def mistakes(error: ValidationError, value: Any) -> list[Mistake]:
    """Mistakes in `value`, one for each wrong key, whatever kinds it may be of."""
    by_key: dict[tuple[int | str, ...], Mistake] = {}
    for fault in error.errors():
        path = (*fault["loc"], *fault.get("ctx", {}).get("unknown", ()))
        key = ".".join(map(plain, path))
        at = path if fault["type"] == "missing" else written_path(value, path)
        by_key.setdefault(at, Mistake(path, f"{key + ': ' if key else ''}{fault_text(fault)}"))
    within = {at[:depth] for at in by_key for depth in range(len(at))}  # wrong because of what is in them
    return [mistake for at, mistake in by_key.items() if at not in within]


def fault_text(fault: ErrorDetails) -> str:
    """Return what is wrong as our messages have it; errors of our own have it so."""
    kind, message, found = fault["type"], fault["msg"], short_repr(fault["input"])
    if kind == "missing":
        return "is required but was not given"
    if kind in ("choice", "unknown_key"):
        return message
    if kind in LIMITS:
        limit, words = LIMITS[kind]
        return f"found {found}, allowed: {words} {fault.get('ctx', {})[limit]:,}"
    return f"found {found}; {message[0].lower()}{message[1:]}"


def written_path(value: Any, path: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Part of a path that was written; the rest is of pydantic's reading."""
    for depth, key in enumerate(path):
        items: Any = dict(enumerate(value)) if isinstance(value, list | tuple) else value
        if not isinstance(items, Mapping) or key not in items:
            return path[:depth]
        value = items[key]
    return path
