"""What a scheme is: verbs that one loop composes; and the scheme without privacy."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from fedpriv.frozen import RunPart
from fedpriv.mechanisms.clipping import Bounded
from fedpriv.mechanisms.sampling import CohortLaw, Full
from fedpriv.trace import MECHANISMS, Facts, Mechanism, Relation, Unit

if TYPE_CHECKING:
    import numpy as np
    import torch

    from fedpriv.config.run import Run
    from fedpriv.local.work import LocalWork
    from fedpriv.mechanisms.private_gradient import PrivateGradient
    from fedpriv.streams import Noise, Streams


Memory = dict[str, "torch.Tensor"]  # what a scheme keeps from round to round, of any shape, on the CPU


class RoundContext(NamedTuple):
    """What the verbs and the hooks may know of the round they are in; all of it is public."""

    number: int  # 1, 2, ...
    rounds: int  # in all
    population: int
    expected: float  # size of a cohort, the denominator of every mean
    examples: np.ndarray  # of each member of the cohort [n]
    fewest: int  # examples of any client of the population
    tensors: tuple[int, ...]  # sizes of the tensors that a row consists of
    streams: Streams
    law: CohortLaw = Full()  # by which cohorts are drawn
    gradient_noise_std: float = 0.0  # of the noise of local training, on every number of a gradient
    memory: Mapping[str, torch.Tensor] = MappingProxyType({})  # what the scheme has kept
    most: int | None = None  # examples of any client of the population; None: not known
    members: np.ndarray | None = (
        None  # the cohort's places in the population [n], which name clients' streams
    )

    def noise(self, name: str) -> Noise:
        """Return the round's source of noise of that name."""
        return self.streams.noise(name, self.number)

    def noises(self, name: str) -> list[Noise]:
        """Return the source of noise of that name of every member of the cohort."""
        members = range(len(self.examples)) if self.members is None else self.members
        return [self.streams.noise(name, self.number, int(member)) for member in members]


# What a scheme does with clients' data: whoever overrides one of them says anew what is released.
VERBS = ("gradient", "memory", "bound", "release", "combine", "remember", "postprocess", "broadcast")
DECLARED = ("mechanism", "plan")


class Scheme(RunPart):
    """No protection: every verb leaves its argument alone; schemes override the verbs they change.

    Rows are updates, or whole weights for a scheme that `sends` these. A scheme declares what it releases
    (`fedpriv.trace.MECHANISMS`), and may plan what that will cost. Neither is inherited by a class that
    overrides a verb: of a mechanism that nobody has declared there is no ε.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        defined_in = {
            name: next(place for place, parent in enumerate(cls.__mro__) if name in vars(parent))
            for name in (*VERBS, *DECLARED)
        }
        for name in DECLARED:
            if defined_in[name] > min(defined_in[verb] for verb in VERBS):
                setattr(cls, name, vars(Scheme)[name])

    name: str
    unit: ClassVar[Unit] = "none"
    relation: ClassVar[Relation] = "add_remove"
    mechanism: ClassVar[Mechanism] = "other"  # what is released; accountants count what they know
    measures: ClassVar[tuple[str, ...]] = ()  # the distances of clients that may be sampled
    sends: ClassVar[Literal["update", "weights"]] = "update"  # what clients upload
    # whose plans certify a budget in place of a noise multiplier, unless the budget says so
    accountant: ClassVar[str] = "pld"
    usual_law: ClassVar[str] = "poisson"  # by which cohorts come in a dry run, unless it is told another
    draws_again: ClassVar[bool] = False  # whether a round needs noise that an earlier one had

    def refuses(self, run: Run) -> str:
        """One line on what this scheme needs instead of what `run` has; empty: nothing."""
        model = run.model
        if self.sends == "weights" and run.cohort.law == "poisson":
            return "cohort.law: found poisson, allowed: fixed, full, for a mean of weights needs their number"
        if self.sends == "weights" and run.local.one_gradient:
            return "local: found fedsgd, allowed: fedavg, for weights are sent and not a gradient"
        if (model.binary or model.normalises) and self.gradient(run.local):
            return f"model: found {model.name}, allowed: one without batch normalisation or binary weights"
        if self.draws_again and run.secure_noise:
            return "secure_noise: found true, allowed: false, for correlated noise is drawn again, unkept"
        if self.mechanism not in MECHANISMS:  # of a package that does not declare it: nobody could account it
            return f"scheme.mechanism: found {self.mechanism}, allowed: {', '.join(MECHANISMS)}"
        return ""

    def gradient(self, local: LocalWork) -> PrivateGradient | None:
        """Noise of the gradients that clients compute while they train; None: there is none."""
        return None

    def plan(self, cohort: CohortLaw, population: int, rounds: int) -> dict[str, Any] | None:
        """Plan of a run beside noise, rounds and δ; None: nobody can plan it.

        By the names that the plans of `accountant` have for it: `sampling_rate`, and what else they may be
        told. It is asked before a run, for a budget; what a run has spent stands in its ledger.
        """
        return None

    def horizon(self, cohort: CohortLaw, population: int, rounds: int) -> int:
        """Return the number of the wanted `rounds` that this scheme allows; decided before training."""
        return rounds

    def memory(self, parameters: int) -> Memory:
        """Memory before the first round, for rows `[p]` of so many parameters."""
        return {}

    def bound(self, updates: torch.Tensor, context: RoundContext) -> tuple[Bounded, Facts]:
        """Return the cohort's updates with a norm bound each of them satisfies."""
        return Bounded(updates, float("inf")), {}

    def release(
        self, bounded: Bounded, uploads: torch.Tensor, context: RoundContext
    ) -> tuple[Bounded, Facts]:
        """Return the uploads of the clients: client-side randomisation.

        `uploads` are the rows of `bounded` with the noise of their local work.
        """
        return bounded, {}

    def combine(self, bounded: Bounded, context: RoundContext) -> tuple[torch.Tensor, Facts]:
        """Return the mean `[p]`, over a public denominator and with server noise: what a round releases.

        Times `context.expected` it is the noisy sum that accountants count and dry runs attack. It may be
        shorter than a row, if `postprocess` makes a row of it. Of whole weights, the server's new ones.
        """
        return bounded.updates.sum(0) / context.expected, {}

    def remember(self, bounded: Bounded, context: RoundContext) -> tuple[Memory, Facts]:
        """Memory for the next round, of what the server has received in this one.

        It is public from then on: what is taken from clients' data gets its noise here.
        """
        return dict(context.memory), {}

    def postprocess(self, mean: torch.Tensor, context: RoundContext) -> tuple[torch.Tensor, Memory, Facts]:
        """Return the server's step `[p]`, and the memory for the next round: a function of what is released.

        `mean` is what `combine` has returned, `context.memory` what `remember` has. It costs nothing, so it
        may depend on nothing else that clients sent, nor on who came.
        """
        return mean, dict(context.memory), {}

    def broadcast(self, weights: torch.Tensor, context: RoundContext) -> tuple[torch.Tensor, Facts]:
        """Weights `[p]` that the server keeps and sends, of its new ones."""
        return weights, {}


class NoPrivacy(Scheme):
    """Average the updates; nothing is clipped and nothing is added."""

    name: Literal["none"] = "none"
    mechanism: ClassVar[Mechanism] = "none"
