"""The mechanism of a run, played dry: its cohorts, its uploads, its releases."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import numpy as np
import torch

from fedpriv.account.ranges import check
from fedpriv.audit.clients import AlikeRounds
from fedpriv.errors import BadInput, require_known
from fedpriv.frozen import parse
from fedpriv.local.work import FedSGD
from fedpriv.mechanisms.clipping import Bounded, clip
from fedpriv.mechanisms.private_gradient import PrivateGradient, privatise
from fedpriv.mechanisms.sampling import COHORTS, CohortLaw, Full
from fedpriv.schemes import SCHEMES
from fedpriv.schemes.base import Memory, RoundContext, Scheme
from fedpriv.schemes.exchange import Hooks, exchange
from fedpriv.streams import Streams
from fedpriv.trace import NO_FACTS, Facts

CLIENTS = 400  # of a dry run: more make its rounds slower, fewer its start

# Of any other mechanism only its own accountants know how its noise is distributed.
KNOWN_LAWS = ("gaussian", "randomized_response", "none")

Settings = Mapping[str, Any]


class AttackedMechanism(NamedTuple):
    """A scheme and its hooks, by what law its clients come, and the rounds that its account counts."""

    scheme: Scheme
    law: CohortLaw
    plan: AlikeRounds
    hooks: Hooks = Hooks()

    @property
    def law_known(self) -> bool:
        """True where the law of the noise follows from facts that every trace has."""
        return self.scheme.mechanism in KNOWN_LAWS

    @property
    def settings(self) -> dict[str, Any]:
        """Return all that `mechanism_by_name` reads: the scheme's keys, of hooks those that do something."""
        hooks = self.hooks.model_dump(exclude_defaults=True)
        return self.scheme.model_dump(exclude={"name"}) | {"hooks": hooks, "cohort": {"law": self.law.law}}


def planned_settings(mechanism: str, plan: AlikeRounds, delta: float) -> Settings:
    """Give a mechanism a bound of 1 and the plan's noise."""
    noise = plan.noise_multiplier
    usual = {"clip_l2": 1.0, "noise_multiplier": noise, "distances": 0}
    # The label ε at which an upload has the plan's noise.
    label = {"epsilon": 2 * plan.rounds * plan.sampling_rate / noise, "constant": 1.0, "weight_clip": 1.0}
    own: dict[str, Settings] = {
        # The budget has no say here.
        "global_dp": {"clip": 1.0, "noise_multiplier": noise, "budget": {"epsilon": 1.0, "delta": delta}},
        "instance": usual | {"per_example_clip": True},
        # Everybody's shares of noise are together the plan's.
        "joint": usual | {"noise_multiplier": noise / math.sqrt(CLIENTS), "top_up": 0.0},
        # Next to no noise of clients, which the server clips, and the plan's of the server.
        "split": usual | {"noise_multiplier": 1e-3, "server_noise_multiplier": noise},
        "nbafl": label | {"scaling": "paper", "clip": "norm"},
        # The γ at which an answer, over 2γ, has the plan's noise over what a bit moves it by.
        "dpfl_bnn": {"gamma": 0.5 / math.sqrt(1 + 4 * noise**2)},
    }
    return own.get(mechanism, usual)


def mechanism_by_name(
    mechanism: str, plan: AlikeRounds, delta: float, settings: Settings | None = None
) -> AttackedMechanism:
    """Return a mechanism by the name of its scheme.

    `settings` are keys of the scheme beyond or instead of those that the plan sets, with those of `hooks` and
    of `cohort` below these names. Unknown names or keys, and a plan that cannot be, are BadInput.
    """
    changes = dict(settings or {})
    require_known("--mechanism", [mechanism], SCHEMES)
    check(**plan._asdict(), delta=delta)
    hooks = parse(Hooks.model_validate, changes.pop("hooks", {}), "--set hooks")
    kind = SCHEMES[mechanism]
    law = cohort(plan, changes.pop("cohort", {}), kind.usual_law)
    set_by_plan = planned_settings(mechanism, plan, delta)
    keys = {key: value for key, value in set_by_plan.items() if key in kind.model_fields} | changes
    scheme = parse(kind.model_validate, keys, f"--mechanism {mechanism} --set")
    return AttackedMechanism(scheme, law, plan, hooks)


def cohort(plan: AlikeRounds, settings: Any, usual: str) -> CohortLaw:
    """Return the law by which clients come at the plan's rate: the usual, unless settings say otherwise."""
    require_known("--set cohort", settings if isinstance(settings, dict) else [settings], ["law"])
    law = settings.get("law", usual)
    require_known("--set cohort.law", [law], COHORTS)
    if law == "full" and plan.sampling_rate < 1:
        raise BadInput(f"--sample-rate: found {plan.sampling_rate:g}, allowed: 1 with cohort.law=full")
    everybody = plan.sampling_rate == 1 and law in ("poisson", usual)
    return COHORTS["full" if everybody else law].of_share(plan.sampling_rate, CLIENTS)


class Round(NamedTuple):
    """What came of a round, and what its facts say of it."""

    sent: torch.Tensor  # what clients would send, `[n, d]`, before anything bounds it
    clean: torch.Tensor  # of which the release consists beneath its noise, `[n, k]`
    received: Bounded  # what the server combined
    mean: torch.Tensor  # what it made of that `[k]`
    total: torch.Tensor  # the noisy sum, float64 `[k]`
    remembered: Memory  # what the scheme keeps of what was received
    made: Memory  # what follows from the release: `step`, `weights`, and all that is kept
    memory: Memory  # for the next round
    facts: Facts


class Overheard:
    """A scheme that somebody listens to: what it received and made of it is kept.

    With `given`, a round of which uploads or the sum and what is remembered are seen, it goes on as if these
    had come out. All else is then a function of them, or shows what it should not.
    """

    def __init__(self, scheme: Scheme, given: Round | None, sees_uploads: bool) -> None:
        self.scheme, self.given, self.sees_uploads = scheme, given, sees_uploads

    def __getattr__(self, name: str) -> Any:
        return getattr(self.scheme, name)

    def combine(self, bounded: Bounded, context: RoundContext) -> tuple[torch.Tensor, Facts]:
        """Combine as the scheme does, and keep what it has received and made of that."""
        self.received, (self.mean, facts) = bounded, self.scheme.combine(bounded, context)
        if self.given and self.sees_uploads:
            return self.scheme.combine(self.given.received, context)
        return self.given.mean if self.given else self.mean, facts

    def remember(self, bounded: Bounded, context: RoundContext) -> tuple[Memory, Facts]:
        """Remember what the scheme does, and keep it."""
        self.remembered, facts = self.scheme.remember(bounded, context)
        if self.given and self.sees_uploads:
            return self.scheme.remember(self.given.received, context)
        return self.given.remembered if self.given else self.remembered, facts


class Site(NamedTuple):
    """Where rounds are played: a mechanism whose `population` has rows of `dimension` numbers."""

    mechanism: AttackedMechanism
    population: int
    dimension: int
    sees_uploads: bool = False  # somebody sees each of them, and not only what the server makes of all

    @property
    def rows_are_examples(self) -> bool:
        """True where rows are those of the examples of one client, which a batch samples."""
        return self.mechanism.scheme.unit == "instance"

    @property
    def expected(self) -> float:
        """Expected number in a round."""
        return self.mechanism.law.expected(self.population)

    def gradient(self) -> PrivateGradient | None:
        """Noise of local gradients, of which nothing is sampled."""
        batch = max(1, round(self.expected)) if self.rows_are_examples else 1
        # Checked again, it would take a tenth of a round.
        gradient = self.mechanism.scheme.gradient(FedSGD.model_construct(batch_size=batch))
        return gradient._replace(samples=0) if gradient else None

    def draw(self, round_number: int, streams: Streams) -> np.ndarray:
        """Ids of those who take part: of clients, or of the examples of a batch."""
        return self.mechanism.law.members(self.population, streams, round_number)

    def play(
        self,
        rows: torch.Tensor,
        ids: np.ndarray,
        round_number: int,
        memory: Memory,
        streams: Streams,
        given: Round | None = None,
    ) -> Round:
        """Outcome of a round in which `rows` `[n, d]` are sent by those with these ids.

        What follows from the release is that of the release of the `given` round, if there is one.
        """
        context = self.context(len(rows), round_number, memory, streams)
        heard = Overheard(self.mechanism.scheme, given, self.sees_uploads)
        mean, bounded, kept, facts = self.exchanged(cast(Scheme, heard), rows, ids, context)
        step, after, processed = heard.postprocess(mean.clone(), context._replace(memory=copied(kept)))
        weights, broadcast = heard.broadcast(step, context)
        weights, noised = self.mechanism.hooks.before_broadcast(weights, context)
        facts = facts | processed | broadcast | noised
        present = facts["denominator"] == "present" and len(rows)
        total = heard.mean.double() * (len(rows) if present else context.expected)
        clean = bounded if self.sees_uploads or facts["noise_in_sum"] else heard.received
        made = {**after, "step": step, "weights": weights}
        return Round(
            rows, clean.updates, heard.received, heard.mean, total, heard.remembered, made, after, facts
        )

    def context(self, size: int, round_number: int, memory: Memory, streams: Streams) -> RoundContext:
        """Context of a round of so many rows; examples are those of one client."""
        single, population = self.rows_are_examples, self.population
        return RoundContext(
            number=round_number,
            rounds=self.mechanism.plan.rounds,
            population=1 if single else population,
            expected=1.0 if single else self.expected,
            examples=np.array([population]) if single else np.ones(size, dtype=np.int64),
            fewest=population if single else 1,
            tensors=(self.dimension - self.dimension // 2, self.dimension // 2),
            streams=streams,
            law=Full() if single else self.mechanism.law,
            memory=copied(memory),
        )

    def exchanged(
        self, heard: Scheme, rows: torch.Tensor, ids: np.ndarray, context: RoundContext
    ) -> tuple[torch.Tensor, Bounded, Memory, Facts]:
        """Return the mean, the bounded rows, what the scheme remembers, the facts."""
        gradient, hooks = self.gradient(), self.mechanism.hooks
        clean, noisy = local_work(
            gradient, rows, np.zeros(1, int) if self.rows_are_examples else ids, context
        )
        uploads = hooks.before_upload(noisy)
        gradient_facts: Facts = {}
        if gradient:
            context = context._replace(gradient_noise_std=gradient.noise_std)
            gradient_facts = gradient.facts(1, np.array([context.fewest]))
        mean, bounded, memory, facts = exchange(
            heard, hooks, clean if gradient else uploads, uploads, context, gradient is not None
        )
        return mean, bounded, memory, NO_FACTS | gradient_facts | facts

    def row(self, facts: Facts, round_number: int, size: int) -> dict[str, Any]:
        """Return the round's row of a trace: what the loop writes down of it, and the facts."""
        population, law = (1, Full()) if self.rows_are_examples else (self.population, self.mechanism.law)
        return {
            **law.facts(population, self.mechanism.plan.rounds),
            **facts,
            "round": round_number,
            "scheme": self.mechanism.scheme.name,
            "mechanism": self.mechanism.scheme.mechanism,
            "unit": self.mechanism.scheme.unit,
            "relation": self.mechanism.scheme.relation,
            "sampling_law": law.law,
            "population": population,
            "expected_cohort": law.expected(population),
            "sampling_rate": law.expected(population) / population,
            "cohort_size": 1 if self.rows_are_examples else size,
            "holders": 1,
            "clear_values": 0,
            "test_accuracy": math.nan,
        }


def copied(memory: Memory) -> Memory:
    """Return a copy: what is played again begins with the same memory, whatever is done to it."""
    return {name: part.clone() for name, part in memory.items()}


def local_work(
    gradient: PrivateGradient | None, rows: torch.Tensor, ids: np.ndarray, context: RoundContext
) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows that clients of these ids send, without noise of their own and with it.

    Rows are a gradient of each, or of one client those of the examples of its batch.
    """
    if gradient is None or not len(ids):
        return rows, rows
    bound = gradient.example_clip_l2
    parts = clip(rows, bound)[0].updates if bound else rows
    totals = list(parts) if context.population > 1 else [parts.sum(0) / gradient.batch_size]
    steps = [
        privatise(gradient, total, rows[:0], 1, 0.0, context.streams.noise("local", context.number, client))
        for total, client in zip(totals, ids.tolist(), strict=True)
    ]
    return torch.stack([step.clean for step in steps]), torch.stack([step.noisy for step in steps])


def declared_bound(facts: Facts, attack: str, rows_are_examples: bool) -> float:
    """Return the norm that a part of what an attacker sees is stated to have at most."""
    if rows_are_examples:
        return facts["instance_clip_l2"]
    noisy = attack == "upload" and facts["upload_noise_std"] > 0
    return facts["upload_l2"] if noisy else facts["clip_l2"]


def declared_std(facts: Facts, size: int) -> float:
    """Return the std of the noise that the sum of so many uploads is stated to have."""
    std = facts["noise_std"] or (facts["noise_multiplier"] and facts["noise_multiplier"] * facts["clip_l2"])
    variance = std**2
    if facts["noise_in_sum"]:
        shares = max(size, facts["noise_shares"]) if facts["topped_up"] else size
        variance += size * facts["upload_noise_std"] ** 2 + shares * facts["instance_noise_std"] ** 2
    return math.sqrt(variance)
