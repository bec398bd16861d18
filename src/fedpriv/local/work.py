"""Local work: what a client does with the weights it is sent, as a config says it; torch-free."""

from typing import ClassVar, Literal, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from fedpriv.frozen import Below1, Count, CountOrZero, Frozen, Positive, PositiveOrZero, RunPart, Share


class LocalWork(RunPart):
    """What a client does with the weights that it is sent."""

    one_gradient: ClassVar[bool] = (
        False  # at the weights that were sent, so that noise and gradient belong together
    )
    name: str
    batch_size: int | None

    def at(self, round_number: int) -> Self:
        """Return the work of `round` 1, 2, ..."""
        return self

    @property
    def keeps_clients(self) -> bool:
        """Whether clients keep weights of their own between rounds."""
        return False

    @property
    def has_moments(self) -> bool:
        """Whether the optimiser remembers gradients."""
        return False

    @property
    def share_taken(self) -> float:
        """Share of the broadcast in the weights that a client keeps."""
        return 1.0

    @property
    def noisy_steps(self) -> int | None:
        """Number of private gradients that a client computes in a round; None: not declared."""
        return 1


class FedSGD(LocalWork):
    """One gradient a client, of all its examples or of a Poisson batch of expected size `batch_size`.

    The update is minus the gradient, the server rate scales it.
    """

    one_gradient: ClassVar[bool] = True
    name: Literal["fedsgd"] = "fedsgd"
    batch_size: Count | None = None
    """Examples expected in a Poisson batch; null: all of them."""


class FedAvg(LocalWork):
    """`epochs` passes (or `steps` mini-batches) of SGD or Adam; the update is the change of the weights."""

    name: Literal["fedavg"] = "fedavg"
    epochs: Count = 1
    """Passes over a client's examples in a round."""
    steps: Count | None = None
    """Overrides epochs."""
    batch_size: Count = 50
    """Examples of a mini-batch."""
    learning_rate: Positive = 0.1
    optimizer: Literal["sgd", "adam"] = "sgd"
    momentum: Below1 = 0.0
    """Of sgd."""
    adam_betas: tuple[Below1, Below1] = (0.9, 0.999)
    """Of adam: of the mean of gradients, and of that of their squares."""
    decay_every: Count | None = None
    """In rounds: in round t the rate is learning_rate x decay_factor^(t // decay_every); null: it stays."""
    decay_factor: Share = 0.1
    """What the rate is multiplied by every `decay_every` rounds."""
    proximal: PositiveOrZero = 0.0
    """Weight of half the squared distance to the weights the client was sent."""
    clip_gradient: Positive | None = None
    """Bound of the norm of a mini-batch's gradient; no privacy follows from it; null: none."""
    persistent: bool = False
    """Clients keep their weights and their optimiser's memory between rounds."""
    mixing: Share = 1.0
    """Share of what the server sends in a persistent client's weights."""

    @model_validator(mode="after")
    def _mixing_needs_memory(self) -> "FedAvg":
        if self.mixing < 1 and not self.persistent:
            raise PydanticCustomError(
                "choice",
                "mixing: found {mixing}, allowed: 1, or persistent: true, for weights to mix with",
                {"mixing": self.mixing},
            )
        return self

    def at(self, round_number: int) -> Self:
        """Return the work of `round` 1, 2, ..., at its learning rate."""
        passed = round_number // self.decay_every if self.decay_every else 0
        return self.model_copy(update={"learning_rate": self.learning_rate * self.decay_factor**passed})

    @property
    def keeps_clients(self) -> bool:
        return self.persistent

    @property
    def has_moments(self) -> bool:
        return self.optimizer == "adam" or self.momentum > 0

    @property
    def share_taken(self) -> float:
        return self.mixing

    @property
    def noisy_steps(self) -> int | None:
        return self.steps


LOCAL_WORK: dict[str, type[LocalWork]] = {"fedsgd": FedSGD, "fedavg": FedAvg}


class Speed(Frozen):
    """How fast, never what: results agree to float tolerance (bfloat16, tf32: to their own precision)."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """auto: a GPU if there is one."""
    threads: CountOrZero = 0
    """Worker threads on CPU; 0 means one a core."""
    chunk: Count = 100
    """Examples in one pass on CPU."""
    stack: Count = 100
    """Clients in one launch on a GPU."""
    dtype: Literal["float32", "tf32", "bfloat16"] = "float32"
    """Of the arithmetic; weights and sums stay float32. tf32: of products on a GPU, on a CPU float32."""
    checkpoint_every: Count = 10
    """Rounds between two states that a killed run goes on from."""
    runs_per_job: Count = 1
    """At most so many are trained in one process, one after the other."""
