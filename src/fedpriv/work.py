"""Local work: what a client does with the weights it is sent, as a config says it; torch-free."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator
from pydantic_core import PydanticCustomError

from fedpriv.frozen import Frozen

Below1 = Annotated[float, Field(ge=0, lt=1)]
Share = Annotated[float, Field(gt=0, le=1)]


class FedSGD(Frozen):
    """One gradient a client, of all its examples or of a Poisson batch of expected size `batch_size`.

    The update is minus the gradient, the server rate scales it.
    """

    name: Literal["fedsgd"] = "fedsgd"
    batch_size: PositiveInt | None = None  # null: all examples

    def at(self, round: int) -> "FedSGD":
        """Return the work of `round`: always the same."""
        return self


class FedAvg(Frozen):
    """`epochs` passes (or `steps` mini-batches) of SGD or Adam; the update is the change of the weights."""

    name: Literal["fedavg"] = "fedavg"
    epochs: PositiveInt = 1
    steps: PositiveInt | None = None  # overrides epochs
    batch_size: PositiveInt = 50
    learning_rate: PositiveFloat = 0.1
    optimizer: Literal["sgd", "adam"] = "sgd"
    momentum: Below1 = 0.0  # of sgd
    adam_betas: tuple[Below1, Below1] = (0.9, 0.999)
    decay_every: PositiveInt | None = (
        None  # rounds; in round t the rate is learning_rate x decay_factor^(t // every)
    )
    decay_factor: Share = 0.1
    proximal: NonNegativeFloat = 0.0  # weight of half the squared distance to the weights the client was sent
    clip_gradient: PositiveFloat | None = (
        None  # norm of the gradient of a mini-batch; no privacy follows from it
    )
    persistent: bool = False  # clients keep their weights and their optimiser's memory between rounds
    mixing: Share = 1.0  # share of what the server sends in a persistent client's weights

    @model_validator(mode="after")
    def _mixing_needs_memory(self) -> "FedAvg":
        if self.mixing < 1 and not self.persistent:
            raise PydanticCustomError(
                "choice",
                "mixing: found {mixing}, allowed: 1, or persistent: true, for weights to mix with",
                {"mixing": self.mixing},
            )
        return self

    def at(self, round: int) -> "FedAvg":
        """Return the work of `round` 1, 2, ..., at its learning rate."""
        passed = round // self.decay_every if self.decay_every else 0
        return self.model_copy(update={"learning_rate": self.learning_rate * self.decay_factor**passed})


LocalWork = FedSGD | FedAvg
LOCAL_WORK: dict[str, type[Frozen]] = {"fedsgd": FedSGD, "fedavg": FedAvg}
