"""The models by name; to add one, write its file and its line here."""

from fedpriv.models.base import Model
from fedpriv.models.cnn import Cnn
from fedpriv.models.resnet50_head import Resnet50Head

MODELS: dict[str, type[Model]] = {"cnn": Cnn, "resnet50_head": Resnet50Head}
