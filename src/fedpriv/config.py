"""The schema of everything a user may write in YAML; torch-free.

`Run` is what changes results, and its hash is the run's identity. `Accounting` changes what is computed
from a finished run, `Speed` only how fast it runs: neither is part of the identity.
"""

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, SerializeAsAny, model_validator
from pydantic_core import PydanticCustomError

from fedpriv.cohort import COHORTS, CohortLaw
from fedpriv.frozen import Frozen, chosen_from
from fedpriv.models import MODELS
from fedpriv.models.base import Model
from fedpriv.partition import PARTITIONS, PartitionLaw
from fedpriv.schemes import SCHEMES, Scheme

# Raised when a change of the code changes results, so that no old checkpoint is resumed.
RESULTS_VERSION = 1

Fraction = Annotated[float, Field(ge=0, le=1)]
Delta = Annotated[float, Field(gt=0, lt=1)]


class FedSGD(Frozen):
    """One gradient a client, of all its examples or of a Poisson batch of expected size `batch_size`.

    The update is minus the gradient, the server rate scales it.
    """

    name: Literal["fedsgd"] = "fedsgd"
    batch_size: PositiveInt | None = None  # null: all examples


class FedAvg(Frozen):
    """`epochs` passes (or `steps` mini-batches) of SGD or Adam; the update is the change of the weights."""

    name: Literal["fedavg"] = "fedavg"
    epochs: PositiveInt = 1
    steps: PositiveInt | None = None  # overrides epochs
    batch_size: PositiveInt = 50
    learning_rate: PositiveFloat = 0.1
    optimizer: Literal["sgd", "adam"] = "sgd"
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.0  # of sgd


LocalWork = FedSGD | FedAvg
LOCAL_WORK: dict[str, type[Frozen]] = {"fedsgd": FedSGD, "fedavg": FedAvg}


class Server(Frozen):
    """The server's step: w += rate(t) · v, v = momentum · v + step."""

    learning_rate: PositiveFloat = 1.0
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.0
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    final_fraction: Fraction = 0.0  # of the learning rate, reached at the last round


class Probe(Frozen):
    """Which clients' distances are written down for the Bayesian accountant."""

    clients: NonNegativeInt = 30  # m independent members of each cohort
    panel: NonNegativeInt = 0  # clients followed through every round, whether drawn or not


class Photos(Frozen):
    """How photographs become training examples; plain images do not ask."""

    copies: PositiveInt = 1  # of each training image: the first is plain, the others are augmented
    seed: NonNegativeInt = 0  # of the augmentation
    dedup: Literal["keep", "drop"] = "keep"  # drop: only the first of pixel-identical images stays
    unreadable: Literal["refuse", "skip"] = "refuse"  # what a missing or damaged image means


class Accounting(Frozen):
    """What is accounted from the trace; changing it never retrains."""

    delta: Delta = 1e-5  # of clients
    instance_delta: Delta = 1e-5


class Run(Frozen):
    """One training run: everything that changes its result."""

    dataset: str
    partition: Annotated[SerializeAsAny[PartitionLaw], chosen_from(PARTITIONS, "law")]
    model: Annotated[SerializeAsAny[Model], chosen_from(MODELS)]
    scheme: Annotated[SerializeAsAny[Scheme], chosen_from(SCHEMES)]
    cohort: Annotated[SerializeAsAny[CohortLaw], chosen_from(COHORTS, "law")]
    local: Annotated[LocalWork, chosen_from(LOCAL_WORK)] = FedSGD()
    server: Server = Server()
    rounds: PositiveInt = 300
    evaluate_every: PositiveInt = 1  # rounds; the last round is always evaluated
    validation: NonNegativeInt = 0  # training examples set aside and used instead of the test split
    photos: Photos = Photos()
    probe: Probe = Probe()
    account: Accounting = Accounting()

    @model_validator(mode="after")
    def _scheme_fits(self) -> "Run":
        if problem := self.scheme.fits(self.local):
            raise PydanticCustomError(
                "choice", "{problem}, with scheme {scheme}", {"problem": problem, "scheme": self.scheme.name}
            )
        return self

    def training(self) -> dict[str, Any]:
        """Return the part that training depends on, as plain data."""
        return self.model_dump(mode="json", exclude={"account"})

    def identity(self, name: str, seed: int) -> str:
        """Return the hash that a resumed state must match."""
        text = json.dumps([RESULTS_VERSION, name, seed, self.training()], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class Speed(Frozen):
    """How fast, never what: results agree to float tolerance (bfloat16: to its own precision)."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: NonNegativeInt = 0  # worker threads on CPU; 0 means one a core
    chunk: PositiveInt = 100  # examples in one pass on CPU
    stack: PositiveInt = 32  # clients in one launch on a GPU
    dtype: Literal["float32", "bfloat16"] = "float32"  # of the arithmetic; weights and sums stay float32
    checkpoint_every: PositiveInt = 10  # rounds
