"""The numbers that papers print, as YAML may give them."""

from typing import Annotated, Literal

from pydantic import Field

Accuracy = Annotated[float, Field(ge=0, le=1)]
Delta = Annotated[float, Field(gt=0, lt=1)]

# At which round an accuracy is read, and whose it is: that of all clients at the last round, or, as released
# code prints it, that of some drawn clients at the round at which it is best.
Measure = Literal["last", "best_drawn"]
MEASURES: dict[Measure, str] = {
    "last": "at the last round",
    "best_drawn": "of drawn clients at its best round",
}
