"""The models by name; to add one, write its file and its line here."""

from fedpriv.models.base import Model
from fedpriv.models.bnn import Bnn
from fedpriv.models.cnn import Cnn
from fedpriv.models.convnet2 import ConvNet2
from fedpriv.models.mlp import Mlp
from fedpriv.models.module import Module
from fedpriv.models.resnet50_head import Resnet50Head
from fedpriv.models.scattered import ScatterCnn, ScatterLinear
from fedpriv.models.softmax import BinarySoftmax, PhotoSoftmax, Softmax
from fedpriv.registry import Registry

MODELS: Registry[type[Model]] = Registry(
    "models",
    Model,
    {
        "binary_softmax": BinarySoftmax,
        "bnn": Bnn,
        "cnn": Cnn,
        "convnet2": ConvNet2,
        "mlp": Mlp,
        "module": Module,
        "photo_softmax": PhotoSoftmax,
        "resnet50_head": Resnet50Head,
        "scatter_cnn": ScatterCnn,
        "scatter_linear": ScatterLinear,
        "softmax": Softmax,
    },
)
