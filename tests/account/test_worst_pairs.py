"""No guarantee of a ledger lies below what neighbours cost whose outcomes are written out in full.

Every scheme, sampling law, denominator, relation and hook, at random. The oracle (`support.small_federation`)
knows how rounds are run and nothing of accountants; the traces are made of the facts of the schemes. Between
them come promises beside a scheme's trace (`support.random_promises`), for classes that inherit from ours.
`make explore` runs all 660 settings, as it runs tests by hypothesis on new examples; else half of them do.
"""

import os
from itertools import product

import numpy as np
import pandas as pd
import pytest
from support import small_federation as oracle
from support.one_number import trace_of
from support.random_promises import promises
from support.random_settings import BATCH, EXAMPLES, SERVER, Setting, book, draw
from support.small_federation import Federation, Outcomes, delta_of_rounds, given

from fedpriv.account import ACCOUNTANTS, Deltas, pld
from fedpriv.account.ledgers import ledger
from fedpriv.mechanisms.sampling import Fixed, Full
from fedpriv.schemes.dpfl_bnn import DpflBnn
from fedpriv.schemes.exchange import Hooks

GONE = np.nan
SETTINGS = 660 if os.environ.get("HYPOTHESIS_PROFILE") else 330
BESIDE = 4  # a promise beside a trace after every fourth setting


# --- how rounds are run, in words of the oracle ------------------------------------------------------------


def clip_of(setting: Setting) -> float:
    return setting.hooks.clip_upload.bound if setting.hooks.clip_upload else np.inf


def share(scheme) -> float:
    """Return the std of the noise on a client's gradient."""
    return scheme.noise_multiplier * scheme.clip_l2 / (BATCH if scheme.per_example_clip else 1)


def drawn(setting: Setting) -> Federation:
    """Return how clients come, before there is any noise."""
    law = setting.law
    return Federation(setting.population, law.law, getattr(law, "rate", 0.0), getattr(law, "size", 0))


def federation(setting: Setting) -> tuple[Federation, float]:
    """Return how a round's sum comes about, and the most that a client's part of it can be."""
    scheme, hook = setting.scheme, setting.hooks.upload_noise_std
    clients = drawn(setting)
    if setting.kind == "falling":
        return clients, scheme.clip_l2  # the noise is another in every round
    if setting.kind in SERVER:
        most = min(scheme.clip_l2 if setting.kind == "client_dp" else scheme.clip, clip_of(setting))
        return clients._replace(
            server_std=scheme.noise_multiplier * most,
            client_std=hook,
            divided_by_those_present=scheme.denominator == "present",
        ), most
    own = float(np.hypot(share(scheme), hook))
    if setting.kind == "joint":
        return clients._replace(client_std=own), scheme.clip_l2
    server = scheme.server_noise_multiplier * scheme.clip_l2 if scheme.name == "split" else 0.0
    if setting.kind == "split":
        return clients._replace(server_std=server, client_std=hook), min(scheme.clip_l2, clip_of(setting))
    return clients._replace(server_std=server, client_std=own), scheme.clip_l2


def of_sum_and_count(setting: Setting, relation: str) -> tuple[Federation, float]:
    """Return the round of a sum and a count, in units of their noise: how far a client moves both at once.

    From outside of the bound, where it counts −1/2, to not there, or to zero, where it counts 1/2, or to the
    other side of the ball and within the bound.
    """
    scheme = setting.scheme
    of_sum = (1 - scheme.count_share) ** 0.5 / scheme.noise_multiplier
    of_count = scheme.count_share**0.5 / scheme.noise_multiplier
    return drawn(setting)._replace(server_std=1.0), float(
        np.hypot(of_sum, 2 * of_count if relation == "zero_out" else of_count)
    )


def topped_up(setting: Setting, shares: int) -> tuple[Federation, float]:
    """Return the same where the server tops up the noise of gradients; it does not that of hooks."""
    scheme, hook = setting.scheme, setting.hooks.upload_noise_std
    clients = drawn(setting)
    if hook:
        return clients._replace(server_std=np.sqrt(shares) * share(scheme), client_std=hook), scheme.clip_l2
    return clients._replace(client_std=share(scheme), topped_up_to=shares), scheme.clip_l2


def alone(setting: Setting) -> tuple[float, float]:
    """Return the noise on a single upload and the most that is beneath it."""
    scheme, hook = setting.scheme, setting.hooks.upload_noise_std
    if setting.kind.startswith("joint"):
        return share(scheme), scheme.clip_l2  # a hook that clips it, or adds noise, does so afterwards
    if scheme.name == "nbafl":
        examples = max(EXAMPLES, setting.largest)
        own = 2 * scheme.weight_clip * scheme.constant / scheme.epsilon * setting.rounds / examples
        return float(np.hypot(own, hook)), min(scheme.weight_clip, clip_of(setting))
    if scheme.name == "none":
        return hook, clip_of(setting)
    if scheme.name == "split":
        return hook, scheme.clip_l2 if setting.kind == "split unclipped" else min(
            scheme.clip_l2, clip_of(setting)
        )
    return hook, federation(setting)[1]


def pairs(
    relation: str, others: int, most: float, rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return neighbours: what all clients send, the first of whom is the one that is protected."""
    mine = {
        "add_remove": [(most, GONE)],
        "zero_out": [(most, 0.0)],
        "replace_one": [(most, -most), (most, 0.0)],
    }
    company = [np.full(others, -most), np.zeros(others), rng.choice([-most, 0.0, most], others)]
    return [
        (np.append(here, theirs), np.append(there, theirs))
        for (here, there), theirs in product(mine[relation], company)
    ]


def exact(
    setting: Setting, trace: pd.DataFrame, accounting: str, relation: str, epsilons: np.ndarray, rng
) -> np.ndarray:
    """Return the largest δ at every ε of some neighbours by `relation`, before whom `accounting` names."""
    if accounting in ("upload", "drawn"):
        if setting.kind == "adaptive_dp":  # a bit beside the upload says whether it was within the bound
            return np.full(len(epsilons), setting.law.expected(setting.population) / setting.population)
        std, most = alone(setting)
        sent = int((trace["cohort_size"] > 0).sum()) if accounting == "upload" else len(trace)
        if accounting == "upload" and setting.largest:  # what came of the others has more noise
            sent = sum(trace.attrs["came"][: len(trace)])
        if not sent:
            return np.zeros(len(epsilons))
        found = [
            [release(setting, accounting, here, std), release(setting, accounting, there, std)]
            for here, there in ((most, 0.0 if relation == "zero_out" else -most),)
        ]
        return np.max([delta_of_rounds([tuple(pair)] * sent, epsilons) for pair in found], axis=0)
    if accounting == "parallel" or accounting == "sequential":
        return exact_of_instances(setting, trace, relation, epsilons, rng)
    shares = int(trace["noise_shares"].iloc[0])
    if setting.kind == "adaptive_dp":
        run, most = of_sum_and_count(setting, relation)
    else:
        run, most = topped_up(setting, shares) if setting.kind == "joint topped up" else federation(setting)
    found = []
    for here, there in pairs(relation, setting.population - 1, most, rng):
        if setting.kind == "adaptive_dp":
            here, there = (np.append(one[:1], np.zeros(len(one) - 1)) for one in (here, there))
        once = run.round(here), run.round(there)
        rounds = [once] * len(trace)
        if setting.kind == "falling":
            each = [run._replace(server_std=setting.scheme.multiplier(one) * most) for one in trace["round"]]
            rounds = [(one.round(here), one.round(there)) for one in each]
        if accounting == "sized":
            sizes = trace["cohort_size"]
            rounds = [tuple(given(one, size) for one in once) for size in sizes if size > 0]
        found.append(delta_of_rounds(rounds, epsilons) if rounds else np.zeros(len(epsilons)))
    return np.max(found, axis=0)


def release(setting: Setting, accounting: str, sent: float, std: float) -> Outcomes:
    """Return what is received of a client: its upload, or where it was not drawn, that it was not."""
    certain = Outcomes(np.ones(1), np.ones(1), np.array([sent]), np.array([std]))
    if accounting == "upload":
        return certain
    rate = setting.law.expected(setting.population) / setting.population
    return Outcomes(*(np.array(part) for part in ([rate, 1 - rate], [1, 0], [sent, 0.0], [std, 0.0])))


def exact_of_instances(
    setting: Setting, trace: pd.DataFrame, relation: str, epsilons: np.ndarray, rng
) -> np.ndarray:
    """Return the same of neighbouring examples: all batches of all who hold the example are seen."""
    scheme = setting.scheme
    most = scheme.clip_l2 / BATCH if scheme.per_example_clip else 10.0
    batches = Federation(
        EXAMPLES, "poisson", BATCH / EXAMPLES, 0, server_std=share(scheme), sum_clipped_at=scheme.clip_l2
    )
    who = min(setting.holders, setting.population)
    found = []
    for here, there in pairs(relation, EXAMPLES - 1, most, rng):
        once = batches.round(here), batches.round(there)
        steps = int((trace["cohort_size"].clip(upper=who) * setting.steps).sum())
        found.append(delta_of_rounds([once] * steps, epsilons) if steps else np.zeros(len(epsilons)))
    return np.max(found, axis=0)


def promised(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that are guarantees; beyond this ε the rarer probabilities are no floats."""
    return frame[(frame["kind"] == "guarantee") & frame["assumptions_met"] & (frame["epsilon"] < 300)]


def violations(setting: Setting, rng: np.random.Generator) -> tuple[list[str], set[tuple[str, str]]]:
    """Return the guarantees of a setting that do not hold, in words, and what was looked at."""
    trace, frame = book(setting, rng)
    wrong, looked_at = [], set()
    for (accounting, relation, last), rows in promised(frame).groupby(["accounting", "relation", "round"]):
        if setting.kind != "instance" and accounting in ("parallel", "sequential"):
            continue  # theirs are those of `instance`
        epsilons = rows["epsilon"].to_numpy()
        found = exact(setting, trace[:last], accounting, relation, epsilons, rng)
        looked_at.add((accounting, relation))
        for accountant, sensitivity, epsilon, delta in zip(
            rows["accountant"], rows["sensitivity"], epsilons, found, strict=True
        ):
            if delta > setting.delta * (1 + 1e-3):
                wrong.append(
                    f"{setting}: {accounting} {accountant} {sensitivity} {relation}, round {last}: "
                    f"δ {delta:.3g} at ε {epsilon:.4g}"
                )
    return wrong, looked_at


def test_no_guarantee_of_any_ledger_is_below_what_neighbours_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    # Losses on a grid as coarse as rounding upwards allows, for it is the time that this takes.
    monkeypatch.setattr(pld, "FINEST", 1e-3)
    monkeypatch.setattr(pld, "CELLS", 500)
    monkeypatch.setattr(pld, "CURVE_CELLS", 500)
    rng = np.random.default_rng(20191122)
    wrong, looked_at, beside = [], set(), 0
    for number in range(SETTINGS):
        some = {name: one for name, one in ACCOUNTANTS.items() if name != "pld" or number % 4 == 0}
        monkeypatch.setattr("fedpriv.account.ledgers.ACCOUNTANTS", some)
        found, what = violations(draw(number, rng), rng)
        wrong += found
        looked_at |= what
        if number % BESIDE == 0:
            kept = promises(rng)
            beside += len(kept)
            wrong += [f"{one.words}: δ {one.found:.3g}" for one in kept if one.found > one.delta * (1 + 1e-3)]
    assert not wrong, "\n".join(wrong)
    assert beside > SETTINGS // 66
    clients = product(["", "sum", "sized", "upload", "drawn"], ["replace_one"])
    others = [
        ("parallel", "add_remove"),
        ("parallel", "replace_one"),
        ("upload", "zero_out"),
        ("drawn", "zero_out"),
    ]
    assert looked_at >= {*clients, *others, *product(["", "sum"], ["add_remove", "zero_out"])}


def answers(keep: float, bit: int, others: np.ndarray) -> np.ndarray:
    """Return the probabilities of the sum of a bit and others, each kept with probability `keep`."""
    found = np.ones(1)
    for one in (bit, *others):
        found = np.convolve(found, [keep, 1 - keep] if one == 0 else [1 - keep, keep])
    return found


def test_no_guarantee_of_randomised_response_is_below_what_a_bit_costs() -> None:
    rng = np.random.default_rng(2023)
    checked = 0
    for _ in range(30):
        clients, rounds = int(rng.integers(1, 9)), int(rng.integers(1, 4))
        delta = float(rng.choice([1e-1, 1e-3]))
        gamma = float(rng.choice([0.02, 0.1, 0.25, 0.4]))
        law = Full() if rng.random() < 0.5 else Fixed(size=int(rng.integers(1, clients + 1)))
        trace = trace_of(DpflBnn(gamma=gamma), Hooks(), law, clients, rounds, rng)
        frame = promised(ledger(trace, Deltas(delta=delta, instance_delta=delta)))
        for row in frame.itertuples():
            others = int(trace["cohort_size"].iloc[0]) - 1 if row.accounting == "sum" else 0
            for company in (np.zeros(others), np.ones(others), np.arange(others) % 2):
                pair = answers(0.5 + gamma, 1, company), answers(0.5 + gamma, 0, company)
                found = oracle.delta(oracle.product([pair] * row.round), row.epsilon)
                assert found <= delta * (1 + 1e-9), row
                checked += 1
    assert checked > 500
