"""The numbers that papers print, as YAML may give them."""

from typing import Annotated

from pydantic import Field

Accuracy = Annotated[float, Field(ge=0, le=1)]
Delta = Annotated[float, Field(gt=0, lt=1)]
