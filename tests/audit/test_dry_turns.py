"""Dry runs where noise is correlated, where clients come in turn, and of mechanisms of somebody else's."""

from typing import ClassVar

import numpy as np
import pytest

from fedpriv.account import ACCOUNTANTS, Accountant, gaussian
from fedpriv.audit import dry
from fedpriv.audit.likelihood import Plan
from fedpriv.errors import BadInput
from fedpriv.mechanisms.sampling import Full, Spaced
from fedpriv.schemes import SCHEMES
from fedpriv.schemes.client_dp import ClientDP
from fedpriv.schemes.dp_ftrl import DpFtrl
from fedpriv.trace import MECHANISMS, Column, Released

DELTA, WANTED = 1e-3, 6000
PLAN = Plan(0.1, 3.0, 20)


@pytest.mark.parametrize("matrix", ["tree", "banded"])
def test_of_correlated_noise_most_of_epsilon_is_seen_and_no_more(matrix):
    found = dry.audited(dry.named("dp_ftrl", PLAN, DELTA, {"matrix": matrix}), DELTA, WANTED)
    assert not found.refuted and 0.4 * found.epsilon < found.lower_bound <= found.epsilon


class Halved(DpFtrl):
    """Half of the noise that is stated."""

    mechanism = "correlated_gaussian"

    def combine(self, bounded, context):
        quiet = self.model_copy(update={"noise_multiplier": self.noise_multiplier / 2})
        step, _ = DpFtrl.combine(quiet, bounded, context)
        return step, DpFtrl.combine(self, bounded, context)[1]


class Independent(DpFtrl):
    """Noise that is not the stated matrix's."""

    mechanism = "correlated_gaussian"

    def combine(self, bounded, context):
        step, facts = super().combine(bounded, context)
        noise = context.noise("noise").like(step) * facts["noise_std"]
        return (bounded.updates.sum(0) + noise) / context.expected, facts


@pytest.mark.parametrize(
    ("scheme", "said"),
    [(Halved, "the noise has 0.25"), (Independent, "comes again in round")],
)
def test_noise_that_is_not_that_of_the_stated_matrix_is_found(scheme, said):
    mechanism = dry.named("dp_ftrl", PLAN, DELTA)
    wrong = scheme(clip_l2=1.0, noise_multiplier=3.0)
    found = dry.audited(mechanism._replace(scheme=wrong, stated=mechanism.scheme), DELTA, 1000)
    assert found.refuted and said in found.broken


class Jumping(Spaced):
    """Turns that are not kept: every other round has the cohort of the round before."""

    def members(self, population, streams, round):
        return super().members(population, streams, round - round % 2)


def test_a_client_that_comes_out_of_turn_is_found():
    mechanism = dry.named("dp_ftrl", PLAN, DELTA)
    found = dry.audited(mechanism._replace(law=Jumping(size=40)), DELTA, 1000)
    assert found.refuted and "a client comes again after 1 rounds" in found.broken


class Prefix(ClientDP):
    """Noise on each partial sum: what a package's scheme may do."""

    name: str = "prefix"
    mechanism: ClassVar[str] = "prefix"

    def combine(self, bounded, context):
        streams, std = context.streams, self.noise_multiplier * self.clip_l2
        total = bounded.updates.sum(0)
        now, before = (streams.noise("prefix", t).like(total) for t in (context.number, context.number - 1))
        noise = now - before * (context.number > 1)
        return (total + std * noise) / context.expected, {"prefix_std": std}


def own(view, delta):
    """Count partial sums with independent noise: a client moves the t-th by t at most."""
    rounds = np.arange(1, len(view.counts) + 1)
    mu = np.sqrt(np.cumsum(rounds**2.0)) / (view.facts["prefix_std"] / view.samples.bound)
    epsilon = np.array([gaussian.guaranteed(one, delta) for one in mu.tolist()])
    return [view.curve(epsilon, np.full(len(mu), np.nan), "prefix", "C")]


@pytest.fixture
def prefix(monkeypatch):
    """Install a scheme whose mechanism nobody else knows, and its accountant."""
    column = Column("float64", "std of the noise on a partial sum", 0.0)
    monkeypatch.setitem(
        MECHANISMS, "prefix", Released("partial sums, each with noise", {"prefix_std": column})
    )
    monkeypatch.setitem(SCHEMES, "prefix", Prefix)
    monkeypatch.setitem(ACCOUNTANTS, "prefix", Accountant(own, ("prefix",)))


def test_a_mechanism_of_a_package_is_attacked_by_whoever_has_seen_its_noise_before(prefix):
    plan, settings = Plan(1.0, 20.0, 8), {"cohort": {"law": "full"}}
    mechanism = dry.named("prefix", plan, DELTA, settings)
    assert mechanism.law == Full()
    found = dry.audited(mechanism, DELTA, 12_000)
    assert "(prefix)" in found.about and not found.refuted
    assert 0.2 * found.epsilon < found.lower_bound <= found.epsilon


def test_of_a_mechanism_that_nobody_counts_there_is_nothing_to_audit(prefix, monkeypatch):
    monkeypatch.delitem(ACCOUNTANTS, "prefix")
    with pytest.raises(BadInput, match=r"--mechanism: found prefix .* whose facts state no ε"):
        dry.audited(dry.named("prefix", PLAN, DELTA), DELTA, 500)
