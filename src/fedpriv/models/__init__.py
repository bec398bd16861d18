"""The models by name; to add one, write its file and its line here."""

from fedpriv.models.base import Model
from fedpriv.models.bnn import Bnn
from fedpriv.models.module import Module
from fedpriv.models.nets import Cnn, ConvNet2, Mlp, Resnet50Head
from fedpriv.registry import Registry

MODELS: Registry[type[Model]] = Registry(
    "models",
    Model,
    {
        "bnn": Bnn,
        "cnn": Cnn,
        "convnet2": ConvNet2,
        "mlp": Mlp,
        "module": Module,
        "resnet50_head": Resnet50Head,
    },
)
