"""The models by name; to add one, write its file and its line here."""

from fedpriv.models.base import Model
from fedpriv.models.bnn import Bnn
from fedpriv.models.heads import BinarySoftmax, PhotoSoftmax, Resnet50Head, ScatterCnn, ScatterLinear, Softmax
from fedpriv.models.module import Module
from fedpriv.models.nets import Cnn, ConvNet2, Mlp
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
