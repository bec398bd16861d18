"""The workloads as values: each is said once, here, and chosen by its name.

Imported by every contender in its own interpreter, hence without fedpriv; and without torch.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

CLIENTS, EXAMPLES = 100, 600  # examples a client, i.i.d., all of MNIST
EVALUATE_EVERY = 10  # rounds, counted from the start of the clock
SEED = 0


class Workload(NamedTuple):
    """What a round is. Every client of the cohort passes once, shuffled, over its examples."""

    name: str
    widths: tuple[int, int, int]  # of the network: channels, channels, dense units
    kernel: int  # pixels in a row of a convolution
    activation: Literal["relu", "tanh"]
    binary: bool  # weights and activations are signs: a network of fedpriv alone
    cohort: int  # clients a round, without replacement; the public denominator of the mean
    optimizer: Literal["SGD", "Adam"]  # of a client, as torch has it, fresh in every round
    batch: int  # examples in a local step; the last batch of a pass has what is left
    local_rate: float  # learning rate of a client
    rate: float  # the server's learning rate on the mean of the updates
    clip: float | None  # norm bound of an update; None: no clipping and no noise
    noise: float  # its std on the sum, in units of the bound
    norms: tuple[float, float]  # where the norms of the updates of the warm-up, once clipped, have to lie
    warm_up: int  # rounds before the clock starts
    rounds: int  # on the clock, unless told otherwise

    @property
    def steps(self) -> int:
        """Return how many local steps a client takes in a round."""
        return -(-EXAMPLES // self.batch)

    @property
    def examples(self) -> int:
        """Return how many examples all clients of a round work through."""
        return self.cohort * EXAMPLES


W1 = Workload(
    name="w1",
    widths=(16, 32, 128),
    kernel=5,
    activation="relu",
    binary=False,
    cohort=30,
    optimizer="SGD",
    batch=EXAMPLES,
    local_rate=1.0,
    rate=0.1,
    clip=1.0,
    noise=1.0,
    norms=(0.0, 1.0),
    warm_up=2,
    rounds=20,
)
W2 = Workload(
    name="w2",
    widths=(16, 16, 100),
    kernel=3,
    activation="tanh",
    binary=False,
    cohort=CLIENTS,
    optimizer="Adam",
    batch=64,
    local_rate=0.01,
    rate=1.0,
    clip=None,
    noise=0.0,
    # Over clients 10 steps give 9.5 to 10.9; 8 give as little as 8.5, 12 as much as 11.7.
    norms=(9.0, 11.5),
    warm_up=1,
    rounds=3,
)
# What a client sends is 81,958 bits, plus or minus one each.
BNN = W2._replace(name="bnn", binary=True, norms=(286.2, 286.4))

WORKLOADS = {one.name: one for one in (W1, W2, BNN)}
