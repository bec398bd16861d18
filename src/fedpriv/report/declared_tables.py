from pydantic import PositiveFloat

from fedpriv.frozen import Frozen
from fedpriv.paper.cells import choice_error as wrong  # noqa: F401  # moved
from fedpriv.paper.spends import SpendChoice


class Limit(Frozen):  # goes with the last figure that declares one
    """A budget that a ranking reads accuracies at."""

    label: str
    spend: SpendChoice
    epsilon: PositiveFloat
