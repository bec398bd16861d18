"""The models by name; to add one, write its file and its line here."""

from fedpriv.models.base import Model
from fedpriv.models.cnn import Cnn

MODELS: dict[str, type[Model]] = {"cnn": Cnn}
