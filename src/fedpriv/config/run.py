"""The schema of everything a user may write in YAML about one run; torch-free.

`Run` is what changes results, and its hash is the run's identity. `Deltas` change what is computed from a
finished run, `Speed` only how fast it runs: neither is part of the identity. Two things are filled in
when a run is planned, from public numbers alone: how many clients `all` of them are, and the noise
multiplier that an ε asks for.
"""

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, SerializeAsAny, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from fedpriv.data import DATASETS
from fedpriv.data.own import Named, Npz, owners
from fedpriv.data.photographs import Photos
from fedpriv.errors import BadInput, plain, require_known
from fedpriv.frozen import (
    RESULTS_VERSION,
    Below1,
    Count,
    CountOrZero,
    Deltas,
    Fraction,
    Frozen,
    Millions,
    OneOf,
    Positive,
    RunPart,
    Thousands,
    ThousandsOrZero,
    choice_error,
    chosen_from,
    parse,
    unless,
)
from fedpriv.local.loss import DEFAULT, LOSSES, Name
from fedpriv.local.work import LOCAL_WORK, FedSGD, LocalWork
from fedpriv.mechanisms.sampling import COHORTS, CohortLaw
from fedpriv.models import MODELS
from fedpriv.models.base import Model
from fedpriv.models.module import module_by_key
from fedpriv.partition import PARTITIONS, PartitionLaw
from fedpriv.schemes import SCHEMES, Scheme
from fedpriv.schemes.client_dp import RunBudget
from fedpriv.schemes.exchange import Hooks
from fedpriv.store import summary
from fedpriv.trace import ASKED, EVALUATED

ALL = "all"


def count_clients(config: Any) -> Any:
    """Config of a run with a number instead of `clients: all`: as many as there are owners.

    Counted are owners of the training examples, those with `min_examples` or more. Where nobody can count
    them, or `validation` sets examples aside, all is a choice_error.
    """
    law = config.get("partition") if isinstance(config, Mapping) else None
    if not isinstance(law, Mapping) or law.get("clients") != ALL:
        return config
    if law.get("law") != "natural":
        raise choice_error("partition.clients", [ALL], "a number, or all with law natural")
    count = count_owners(config.get("dataset"), law.get("min_examples", 1), config.get("validation", 0))
    return {**config, "partition": {**law, "clients": count}}


def count_owners(dataset: Any, least: Any, validation: Any) -> int:
    """Return the number of owners with `least` training examples or more, where none are set aside."""
    where = "partition.clients"
    if validation:
        raise choice_error(where, [ALL], "a number with validation")
    if isinstance(dataset, Mapping) and "npz" in dataset:
        dataset = Npz.model_validate(dataset)
    if isinstance(dataset, Npz):
        owner = owners(Path(dataset.npz))
        sizes = np.unique(owner, return_counts=True)[1]
        return int((sizes >= least).sum()) if isinstance(least, int) else len(sizes)
    known = DATASETS.get(str(dataset))
    writers = int(known.writers) if known else 0
    if writers and least == 1:
        return writers
    if writers:
        raise choice_error(where, [ALL], f"a number; all with min_examples 1: {writers:,}")
    raise choice_error(where, [ALL], f"a number, for nobody knows the owners in {plain(dataset)}")


def find_noise(config: Any) -> Any:
    """Config of a run with a number instead of a budget for the noise multiplier."""
    scheme = config.get("scheme") if isinstance(config, Mapping) else None
    budget = scheme.get("noise_multiplier") if isinstance(scheme, Mapping) else None
    if not (isinstance(scheme, Mapping) and isinstance(budget, Mapping)):
        return config

    def with_multiplier(number: float) -> Any:
        return {**config, "scheme": {**scheme, "noise_multiplier": number}}

    try:
        run = Run.model_validate(with_multiplier(1.0))
    except ValidationError:
        return with_multiplier(1.0)  # what else is wrong has an error of its own
    return with_multiplier(multiplier(run, budget))


DIGITS = 4  # of the least multiplier: it is rounded up, so that its ε is still within the budget


def multiplier(run: Any, written: Mapping[str, Any]) -> float:
    """Return the least multiplier, to 4 digits, with which all rounds of `run` cost the budget at most.

    What is wrong with a budget, one that no noise meets, and a run that releases something else than its
    scheme plans are BadInput that names the key.
    """
    key, scheme = "scheme.noise_multiplier", run.scheme
    budget = parse(RunBudget.model_validate, dict(written), key)
    plan = scheme.plan(run.cohort, run.partition.clients, run.rounds)
    if plan is None or run.hooks != Hooks() or run.model.sends_in_clear:
        raise BadInput(
            f"{key}: found a budget, allowed: a number; also a budget with a scheme that plans its noise (of "
            "ours client_dp, denominator expected, cohort.law poisson, fixed or full), without hooks and "
            "with a model that sends nothing in the clear"
        )
    from fedpriv.account.plans import planners  # slow to import, and few runs have a budget

    accountant = budget.accountant or scheme.accountant
    require_known(f"{key}.accountant", [accountant], planners(scheme.mechanism))
    settings = {"delta": run.account.delta, "rounds": run.rounds, **plan}
    try:
        return least_multiplier(budget.epsilon, accountant, tuple(settings.items()))
    except BadInput as error:
        raise BadInput(f"{key}.{error}") from None


@cache
def least_multiplier(epsilon: float, accountant: str, plan: tuple[tuple[str, Any], ...]) -> float:
    """Return the least multiplier of so many digits whose ε is within the budget.

    It is part of what a run is, so that it hangs on no end of a search: of the multipliers beside that end
    each is tried.
    """
    from fedpriv.account import plans

    near = plans.calibrate(epsilon=epsilon, accountant=accountant, **dict(plan))
    decimals = DIGITS - 1 - math.floor(math.log10(near))
    count = math.floor(near * 10.0**decimals) - 1
    while True:
        multiplier = float(f"{count}e{-decimals}")
        spent = plans.epsilon(accountant=accountant, noise_multiplier=multiplier, **dict(plan))
        if spent.epsilon <= epsilon:
            return multiplier
        count += 1


class Server(RunPart):
    """The server's step: w += rate(t) · v, of any scheme.

    v = momentum · v + step or, with `optimizer: adam`, m / (√s + τ), where m and s are moving averages of the
    step and its square (FedAdam of Reddi et al. 2021, with their 0.9, 0.99 and τ = 0.001). Either is computed
    from what was released, at no cost, and so is an average of weights.
    """

    optimizer: Literal["sgd", "adam"] = unless("sgd")
    learning_rate: Positive = 1.0
    """Of the first round."""
    momentum: Below1 = 0.0
    """Of sgd: share of the last step's velocity that is kept."""
    averaging: Below1 = unless(0.0)
    """Share of the weights' moving average that a round keeps: it is evaluated and saved; 0: the weights."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """Of the learning rate over the rounds."""
    final_fraction: Fraction = 0.0
    """Of the learning rate, reached at the last round."""

    @model_validator(mode="after")
    def _momentum_is_of_sgd(self) -> "Server":
        if self.momentum and self.optimizer != "sgd":
            raise choice_error("momentum", [self.momentum], "0 with optimizer adam")
        return self

    def refuses(self, run: "Run") -> str:
        if self.averaging and run.evaluation.models == "clients":
            return "server.averaging: found some, allowed: 0, for clients' own weights are evaluated"
        return ""


class Probe(RunPart):
    """Which clients' distances are written down for the Bayesian accountant."""

    clients: ThousandsOrZero = 30
    """m independent members of each cohort."""
    panel: ThousandsOrZero = 0
    """Clients followed through every round, whether sampled or not."""
    neighbours: bool = unless(False)
    """Of the first client: how far one example of it, replaced, moves what it sends, whenever it comes."""

    def refuses(self, run: "Run") -> str:
        if self.neighbours and run.secure_noise:
            return "probe.neighbours: found true with secure_noise, allowed: false, for no noise comes twice"
        return ""


class Canaries(RunPart):
    """Clients without data whose random updates attack a run: an audit, which needs a run of its own.

    Each takes part with probability `included`, and then comes as often as other clients do.
    """

    clients: Thousands
    """Canaries, beside the clients with data."""
    included: Fraction = 0.5
    """Probability that a canary takes part at all."""

    def refuses(self, run: "Run") -> str:
        if run.scheme.name != "client_dp" or run.cohort.law != "poisson":
            return "canaries: found some, allowed: none, but with scheme client_dp and cohort.law poisson"
        if getattr(run.scheme, "denominator", "") == "present":
            return "scheme.denominator: found present, allowed: expected, for canaries are not counted"
        return ""


class Evaluation(RunPart):
    """Whose weights are evaluated: the server's, or those of every client, whose accuracies are averaged.

    Clients' weights are theirs after they have received the round's broadcast.
    """

    models: Literal["server", "clients"] = "server"
    """Whose weights."""
    stride: Count = 1
    """Every so-manieth test example is looked at, the same ones in every round."""
    metrics: tuple[Annotated[str, OneOf(ASKED)], ...] = unless(())
    """What else is measured: perplexity, auroc (mean over classes), f1 (the same), error (mean absolute).

    Of the accuracies of the owners of test examples worst_owner, the least, and owner_std.
    """
    drawn: Millions = 50
    """Clients sampled with replacement, for the mean that the code of DPFL-BNN prints."""

    def refuses(self, run: "Run") -> str:
        if self.models == "clients" and not run.local.keeps_clients:
            return (
                "evaluation.models: found clients, allowed: local.persistent: true, for only then clients "
                "have weights of their own"
            )
        known = [name for name in ASKED if run.loss in EVALUATED[name].losses or run.loss not in LOSSES]
        if unknown := ", ".join(metric for metric in self.metrics if metric not in known):
            allowed = ", ".join(known)
            return f"evaluation.metrics: found {unknown} with loss {run.loss}, allowed: {allowed}"
        return ""


class Run(Frozen):
    """One training run: everything that changes its result."""

    dataset: Named
    """By its name, as `fedpriv list` shows them, or data of one's own."""
    partition: Annotated[SerializeAsAny[PartitionLaw], chosen_from(PARTITIONS, "law")]
    """Who holds which examples."""
    model: Annotated[SerializeAsAny[Model], chosen_from(MODELS), BeforeValidator(module_by_key)]
    """What is trained."""
    scheme: Annotated[SerializeAsAny[Scheme], chosen_from(SCHEMES)]
    """The privacy scheme, or `none`."""
    cohort: Annotated[SerializeAsAny[CohortLaw], chosen_from(COHORTS, "law")]
    """Who takes part in a round."""
    local: Annotated[SerializeAsAny[LocalWork], chosen_from(LOCAL_WORK)] = FedSGD()
    """What a client does in a round."""
    loss: Name = unless(DEFAULT)
    """cross_entropy, binary_cross_entropy, mean_squared_error, FILE:FUNCTION."""
    server: Server = Server()
    """How the server uses what arrives."""
    rounds: Millions = 300
    """Of training; a scheme with a budget may stop before."""
    evaluate_every: Count = 1
    """Rounds; the last round is always evaluated."""
    evaluation: Evaluation = Evaluation()
    """Whose accuracy is measured, and on how many examples."""
    hooks: Hooks = Hooks()
    """Clipping and noise beside the scheme's own."""
    secure_noise: bool = False
    """Noise, flips and samples from the operating system: never the same twice."""
    validation: CountOrZero = 0
    """Training examples set aside and used instead of the test split."""
    photos: Photos = Photos()
    """How photographs become features."""
    learn_from: Literal["private", "public"] = unless("private")
    """public: clients hold the public examples from which features are seen, and nobody's private ones."""
    probe: Probe = Probe()
    """Which distances are sampled."""
    canaries: Canaries | None = unless(None)
    """Whose updates are planted for audits: docs/audits.md."""
    account: Deltas = Deltas()
    """At which δ is counted."""

    @model_validator(mode="before")
    @classmethod
    def _filled_in(cls, config: Any) -> Any:
        """Put in the number of clients for `all`, and a multiplier for a budget for noise."""
        try:
            return find_noise(count_clients(config))
        except BadInput as error:
            raise PydanticCustomError("choice", "{problem}", {"problem": str(error)}) from None

    @model_validator(mode="after")
    def _fits_together(self) -> "Run":
        parts = (self.scheme, self.local, self.model, self.server, self.evaluation, self.probe)
        for part in (*parts, self.canaries, self.partition, self.cohort):
            if part and (problem := part.refuses(self)):
                needs = f", with scheme {self.scheme.name}" if part is self.scheme else ""
                raise PydanticCustomError("choice", "{problem}", {"problem": problem + needs})
        return self

    @property
    def data(self) -> str:
        """Name of the data: the dataset, or the content of a file of one's own."""
        return self.dataset if isinstance(self.dataset, str) else self.dataset.name

    def training(self) -> dict[str, Any]:
        """Return the part that training depends on, as plain data."""
        return self.model_dump(mode="json", exclude={"account"})

    def identity(self, name: str, seed: int) -> str:
        """Return the hash that a resumed state must match; of a file of data it knows what, not where."""
        facts = {"results_version": RESULTS_VERSION, "run": name, "seed": seed, "config": self.training()}
        return summary.identity(facts)
