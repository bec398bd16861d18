"""The schemes by name; to add one, write its file and its line here."""

from fedpriv.registry import Registry
from fedpriv.schemes.base import NoPrivacy, Scheme
from fedpriv.schemes.client_dp import ClientDP
from fedpriv.schemes.dpfl_bnn import DpflBnn
from fedpriv.schemes.global_dp import GlobalDP
from fedpriv.schemes.instance import Instance
from fedpriv.schemes.joint import Joint
from fedpriv.schemes.nbafl import NbAFL
from fedpriv.schemes.split import Split

SCHEMES: Registry[type[Scheme]] = Registry(
    "schemes",
    Scheme,
    {
        "none": NoPrivacy,
        "client_dp": ClientDP,
        "global_dp": GlobalDP,
        "instance": Instance,
        "joint": Joint,
        "split": Split,
        "dpfl_bnn": DpflBnn,
        "nbafl": NbAFL,
    },
)
