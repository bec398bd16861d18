"""The workloads as values: each is said once, here, and chosen by its name.

Imported by every contender in its own interpreter, hence without fedpriv; and without torch.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

EVALUATE_EVERY = 10  # rounds, counted from the start of the clock
SEED = 0


class Workload(NamedTuple):
    """What a round is. Every client of the cohort passes once, shuffled, over its examples or a batch."""

    name: str
    run: str  # of the paper bdp2019, whose round it is; empty: of none
    arrays: str  # the file that its data are in, without .npz
    copies: int  # of each original image among the training examples; a client holds all of one
    classes: int
    # bnn: weights and activations are signs; head: one layer on features
    model: Literal["cnn", "bnn", "head"]
    widths: tuple[int, ...]  # of the network: channels, channels, dense units if any
    kernel: int  # pixels in a row of a convolution
    activation: Literal["relu", "tanh"]
    clients: int  # how many there are; where MNIST does not suffice it is dealt again
    each: int  # examples that a client holds
    cohort: int  # clients a round, without replacement; the public denominator of the mean
    optimizer: Literal["SGD", "Adam"]  # of a client, as torch has it, fresh in every round
    batch: int  # examples in a local step; the last batch of a pass has what is left
    poisson: bool  # a client's one batch is drawn, every example with the chance batch / each
    local_rate: float  # learning rate of a client
    rate: float  # the server's learning rate on the mean of the updates
    clip: float | None  # norm bound of an update; None: no clipping and no noise
    example_clip: float | None  # norm bound of the gradient of one example; None: not clipped
    noise: float  # its std, in units of the bound: on the sum, or with `poisson` on what every client sends
    # Of clients sampled in every round, on the clock; with `poisson` of every client's examples.
    distances: int
    norms: tuple[float, float]  # where the norms of the updates of the warm-up, once clipped, have to lie
    warm_up: int  # rounds before the clock starts
    rounds: int  # on the clock, unless told otherwise

    @property
    def expected(self) -> int:
        """Return how many examples a client works through in a round, expected where they are drawn."""
        return self.batch if self.poisson else self.each

    @property
    def steps(self) -> int:
        """Return how many local steps a client takes in a round."""
        return -(-self.expected // self.batch)

    @property
    def examples(self) -> int:
        """Return how many examples all clients of a round work through, expected where they are drawn."""
        return self.cohort * self.expected

    @property
    def sizes(self) -> tuple[int, int]:
        """Return how few and how many examples a client may work through; drawn ones within 6 sigma."""
        spread = 6 * math.sqrt(self.batch * (1 - self.batch / self.each)) if self.poisson else 0.0
        return math.floor(self.expected - spread), math.ceil(self.expected + spread)

    @property
    def noise_std(self) -> float:
        """Return the std of the noise on every number of the sum, or of a client's private gradient."""
        bound = self.example_clip / self.batch if self.example_clip else self.clip
        return self.noise * (bound or 0.0)


W1 = Workload(
    name="w1",
    run="",
    arrays="mnist",
    copies=1,
    classes=10,
    model="cnn",
    widths=(16, 32, 128),
    kernel=5,
    activation="relu",
    clients=100,
    each=600,
    cohort=30,
    optimizer="SGD",
    batch=600,
    poisson=False,
    local_rate=1.0,
    rate=0.1,
    clip=1.0,
    example_clip=None,
    noise=1.0,
    distances=0,
    norms=(0.0, 1.0),
    warm_up=2,
    rounds=20,
)
W2 = W1._replace(
    name="w2",
    widths=(16, 16, 100),
    kernel=3,
    activation="tanh",
    cohort=100,
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
BNN = W2._replace(name="bnn", model="bnn", norms=(286.2, 286.4))
# Tables I and II at N = 1,000, the cohort of a size that everybody can draw.
W4 = W1._replace(
    name="w4",
    run="iid_n1000_dp",
    widths=(8, 16),
    activation="tanh",
    clients=1_000,
    cohort=100,
    noise=3.0,
    distances=30,
    warm_up=1,
    rounds=5,
)
# Table IV with as many clients: the mean of a client's batch is clipped and noised, or every example is.
W5 = W4._replace(
    name="w5",
    run="iid_n100_joint_bdp",
    batch=150,
    poisson=True,
    rate=0.09,
    clip=2.0,
    noise=1.06,
    distances=16,
    norms=(0.0, 2.0),
)
W5_DPSGD = W5._replace(
    name="w5-dpsgd",
    run="iid_n100_joint_dpsgd",
    rate=0.15,
    clip=1.0,
    example_clip=10.0,
    noise=7.03,
    distances=0,
    norms=(0.0, 1.0),
)
# Table III at N = 1,000: 11 copies of each of 31 photographs a client, and a linear head on their features.
W6 = W4._replace(
    name="w6",
    run="aptos_n1000_dp",
    arrays="aptos-random-c11-s0-keep",
    copies=11,
    classes=5,
    model="head",
    widths=(2048,),
    each=341,
    batch=341,
    rate=8.0,
    clip=0.1,
    norms=(0.0, 0.1),
    warm_up=10,
    rounds=50,
)

# Table II with 10,000 clients.
LARGE = W4._replace(name="w4-large", run="iid_n10000_dp", clients=10_000, cohort=300)

WORKLOADS = {one.name: one for one in (W1, W2, BNN, W4, W5, W5_DPSGD, W6, LARGE)}
