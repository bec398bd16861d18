"""What is run dry, by name: any scheme there is, its hooks, and the law of its cohorts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fedpriv.account.ranges import check
from fedpriv.audit.likelihood import Plan
from fedpriv.errors import BadInput, require_known
from fedpriv.frozen import parse
from fedpriv.mechanisms.sampling import COHORTS, CohortLaw, Fixed, Full, Poisson, Spaced
from fedpriv.schemes import SCHEMES, Scheme
from fedpriv.schemes.hooks import Hooks

CLIENTS = 400  # of a dry run: more make its rounds slower, fewer its start
RELEASED = "global_dp_released"  # global_dp as its code was released, counted as if it bounded anything

Settings = Mapping[str, Any]


class Mechanism(NamedTuple):
    """A scheme and its hooks, by what law its clients come, and the rounds that its account counts."""

    scheme: Scheme
    law: CohortLaw
    plan: Plan
    hooks: Hooks = Hooks()
    stated: Scheme | None = None  # what the account takes the scheme for; None: the scheme itself

    @property
    def believed(self) -> Scheme:
        """Return the scheme whose facts state ε."""
        return self.stated or self.scheme


def usual(plan: Plan, delta: float) -> Settings:
    """Return a bound of 1 and the plan's noise, under the names that most schemes have for them."""
    return {"clip_l2": 1.0, "noise_multiplier": plan.noise_multiplier}


def global_dp(plan: Plan, delta: float) -> Settings:
    """Return the same with a budget, which has no say here."""
    budget = {"epsilon": 1.0, "delta": delta}
    return {"clip": 1.0, "noise_multiplier": plan.noise_multiplier, "budget": budget}


def released(plan: Plan, delta: float) -> Settings:
    """Return what the released code does: its clipping bounds nothing."""
    return {**global_dp(plan, delta), "clipping": "released"}


def instance(plan: Plan, delta: float) -> Settings:
    """Return DP-SGD: every example is clipped."""
    return {**usual(plan, delta), "per_example_clip": True, "distances": 0}


def joint(plan: Plan, delta: float) -> Settings:
    """Return everybody's shares of noise, which together are the plan's."""
    share = plan.noise_multiplier / math.sqrt(CLIENTS)
    return {"clip_l2": 1.0, "noise_multiplier": share, "top_up": 0.0, "distances": 0}


def split(plan: Plan, delta: float) -> Settings:
    """Return next to no noise of clients, which the server clips, and the plan's noise of the server."""
    noise = {"noise_multiplier": 1e-3, "server_noise_multiplier": plan.noise_multiplier}
    return {"clip_l2": 1.0, "distances": 0, **noise}


def nbafl(plan: Plan, delta: float) -> Settings:
    """Return the label ε at which an upload has the plan's noise."""
    label = 2 * plan.rounds * plan.sampling_rate / plan.noise_multiplier
    return {"epsilon": label, "constant": 1.0, "weight_clip": 1.0, "scaling": "paper", "clip": "norm"}


def dpfl_bnn(plan: Plan, delta: float) -> Settings:
    """Return the γ at which an answer, divided by 2γ, has the plan's noise over what a bit moves it by."""
    return {"gamma": 0.5 / math.sqrt(1 + 4 * plan.noise_multiplier**2)}


# What a plan sets of a scheme; of any other its bound and its noise multiplier, where it has such keys.
PLANNED: dict[str, Callable[[Plan, float], Settings]] = {
    "client_dp": usual,
    "adaptive_dp": usual,
    "dp_ftrl": usual,
    "global_dp": global_dp,
    RELEASED: released,
    "instance": instance,
    "joint": joint,
    "split": split,
    "nbafl": nbafl,
    "dpfl_bnn": dpfl_bnn,
}


def named(mechanism: str, plan: Plan, delta: float, settings: Settings | None = None) -> Mechanism:
    """Return a mechanism by the name of its scheme.

    `settings` are keys of the scheme beyond or instead of those that the plan sets, with those of `hooks` and
    of `cohort` below these names. Unknown names or keys, and a plan that cannot be, are BadInput.
    """
    given = dict(settings or {})
    require_known("--mechanism", [mechanism], [*PLANNED, *SCHEMES])
    plan.checked()
    check(delta=delta)
    hooks = parse(Hooks.model_validate, given.pop("hooks", {}), "--set hooks")
    kind = SCHEMES["global_dp" if mechanism == RELEASED else mechanism]
    in_turn = kind.mechanism == "correlated_gaussian" and plan.sampling_rate < 1
    law = cohort(plan, given.pop("cohort", {}), "spaced" if in_turn else "poisson")
    set_by_plan = PLANNED.get(mechanism, usual)(plan, delta)
    keys = {key: value for key, value in set_by_plan.items() if key in kind.model_fields} | given
    scheme = parse(kind.model_validate, keys, f"--mechanism {mechanism} --set")
    bounded = {"clipping": "bounded"} if mechanism == RELEASED else {}
    return Mechanism(scheme, law, plan, hooks, scheme.model_copy(update=bounded) if bounded else scheme)


def cohort(plan: Plan, settings: Any, usual: str) -> CohortLaw:
    """Return the law by which clients come at the plan's rate: the usual, unless settings say otherwise."""
    laws: dict[str, CohortLaw] = {
        "poisson": Full() if plan.sampling_rate == 1 else Poisson(rate=plan.sampling_rate),
        "fixed": Fixed(size=max(1, round(plan.sampling_rate * CLIENTS))),
        "full": Full(),
        "spaced": Spaced(size=max(1, round(plan.sampling_rate * CLIENTS))),
    }
    require_known("--set cohort", settings if isinstance(settings, dict) else [settings], ["law"])
    law = settings.get("law", usual)
    require_known("--set cohort.law", [law], COHORTS)
    if law == "full" and plan.sampling_rate < 1:
        raise BadInput(f"--sample-rate: found {plan.sampling_rate:g}, allowed: 1 with cohort.law=full")
    return laws[law]
