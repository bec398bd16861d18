import math

import numpy as np
import pandas as pd
import pytest
from dp_accounting import get_epsilon_gaussian

from fedpriv.account import Deltas, ledger, statements
from fedpriv.account.check import checked_trace
from fedpriv.account.randomized_response import exact_epsilon
from fedpriv.audit import clients, finished, uploads
from fedpriv.audit.finding import THREATS, Finding, Known, broken_guarantees

SERVER = {
    **{"unit": "client", "relation": "add_remove", "sampling_law": "poisson", "population": 1000},
    **{"expected_cohort": 300.0, "sampling_rate": 0.3, "cohort_size": 300, "clip_l2": 1.0},
    **{"clip_private": False, "noise_multiplier": 3.0, "noise_std": 3.0, "norm_max": 1.0, "norm_min": 0.5},
}
NBAFL = {"name": "nbafl", "epsilon": 10.0, "constant": 3.0, "weight_clip": 1.0, "scaling": "paper"}
WEIGHTS = {"unit": "none", "noise_multiplier": 0.0, "noise_std": 0.0, "clip_l2": np.inf}
JOINT = {
    **{"unit": "both", "noise_shares": 29, "cohort_size": 30, "expected_cohort": 30.0, "population": 100},
    **{"instance_noise_std": 2.0, "instance_noise_multiplier": 2.0, "instance_clip_l2": 1.0},
    **{"local_steps": 1, "rate_sequential": 0.001, "rate_parallel": 0.1, "holders": 1},
    **{"noise_multiplier": 0.0, "noise_std": 0.0, "noise_in_sum": True},
}
BITS = {
    "mechanism": "randomized_response",
    **{"gamma": 0.2, "flips": "coordinate", "noisy_bits": 10_000, "sampling_law": "full"},
    **{"sampling_rate": 1.0, "cohort_size": 1000, "expected_cohort": 1000.0},
    **{"noise_multiplier": 0.0, "noise_std": 0.0, "clip_l2": np.inf},
}


@pytest.fixture(scope="session")
def make_known():
    """Return a builder of what is known of a run: the columns of its trace that are not those of SERVER."""

    def build(rounds=30, distances=None, scheme=None, delta=1e-3, parameters=5000, **columns):
        trace = checked_trace(pd.DataFrame({"round": np.arange(1, rounds + 1), **SERVER}).assign(**columns))
        distances = distances or {}
        frame = ledger(trace, Deltas(delta=delta, instance_delta=1e-5), distances)
        return Known(trace, distances, statements(frame), scheme or {}, parameters, "a run")

    return build


def followed(ratio, rounds=30, members=5):
    """Return distances of clients that were followed and sampled, all of them `ratio` times the bound."""
    return {name: np.full((rounds, members), ratio) for name in ("remove_sum", "panel_remove_sum")}


def only(findings, about):
    return next(one for one in findings if about in one.about)


def test_every_audit_says_who_attacks_in_one_sentence_and_has_its_line():
    assert set(finished.AUDITS) | {"dry_run", "removed", "replaced"} == set(THREATS)
    assert all(threat.endswith(".") and threat.count(". ") == 0 for threat in THREATS.values())


def test_a_client_as_large_as_the_bound_shows_how_tight_a_guarantee_is(make_known):
    found = only(clients.outlier(make_known()), "moments")
    assert not found.refuted and 0.6 * found.epsilon < found.lower_bound < found.epsilon


def test_an_estimate_from_small_updates_does_not_hold_for_a_client_with_large_ones(make_known):
    known = make_known(distances=followed(0.2))
    outlier, everybody = (
        only(audit(known), "product") for audit in (clients.outlier, clients.followed_client)
    )
    assert outlier.kind.startswith("estimate") and outlier.refuted
    assert not everybody.refuted and "0 of 5 clients" in everybody.cost


def test_a_client_that_was_followed_and_cost_more_refutes_an_estimate(make_known):
    distances = followed(0.2)
    distances["panel_remove_sum"][:, 3] = 1.0
    found = only(clients.followed_client(make_known(distances=distances)), "product")
    assert found.refuted and "1 of 5 clients" in found.cost


def test_over_clients_and_transcripts_rare_large_clients_refute_an_estimate_and_small_ones_do_not(make_known):
    known = make_known(distances=followed(0.2))
    assert not only(clients.frequency(known), "product").refuted
    distances = followed(0.2)
    distances["panel_remove_sum"][:, 3] = 1.0
    assert only(clients.frequency(make_known(distances=distances)), "product").refuted


def test_an_attacker_of_one_bit_sees_most_of_its_exact_epsilon(make_known):
    (found,) = uploads.bits(make_known(**BITS))
    assert found.kind == "guarantee" and 0.6 * found.epsilon < found.lower_bound <= found.epsilon


def test_clients_that_differ_in_more_bits_than_one_refute_the_label_of_one_bit(make_known):
    (found,) = uploads.uploads(make_known(**BITS))
    assert found.refuted and found.lower_bound == exact_epsilon(0.2, 100 * 30, 1e-3)
    (found,) = uploads.tensors(make_known(**BITS | {"flips": "tensor"}))
    assert found.refuted and found.lower_bound == math.inf


def test_the_label_of_nbafl_is_held_against_an_example_and_two_clients_of_the_run(make_known):
    known = make_known(
        scheme=NBAFL, **WEIGHTS, upload_l2=1.0, upload_noise_std=0.1, norm_max=5.0, norm_min=0.2
    )
    (example,), (client,) = uploads.example(known), uploads.client(known)
    # 9 uploads of noise 3·9/10 of what an example moves: μ = √9 · 10/(3·9).
    oracle = get_epsilon_gaussian(3 * 3 / 10, example.delta)
    assert not example.refuted and example.lower_bound == pytest.approx(oracle, rel=1e-5)
    assert client.refuted and client.lower_bound > 40  # μ = (1 − 0.2)/0.1


def test_where_uploads_were_measured_their_distances_are_held_against_the_label_of_nbafl(make_known):
    noisy = {"scheme": NBAFL, **WEIGHTS, "upload_l2": 1.0, "upload_noise_std": 0.1, "norm_max": 5.0}
    came = np.where(np.arange(30) % 10 == 0, 0.02, 0.0)  # three times in thirty rounds
    known = make_known(**noisy, norm_min=5.0, uploads_apart=0.3, neighbours_apart=came)
    (example,), (client,) = uploads.neighbours(known), uploads.client(known)
    assert example.lower_bound == pytest.approx(
        get_epsilon_gaussian(0.1 / (0.02 * math.sqrt(3)), example.delta), rel=1e-5
    )
    assert "3 uploads" in example.cost and not example.refuted
    assert client.lower_bound == pytest.approx(get_epsilon_gaussian(1 / 3, client.delta), rel=1e-5)
    assert not list(uploads.neighbours(make_known(**noisy, norm_min=5.0)))


def test_what_the_last_model_shows_is_an_estimate_and_refutes_nothing(make_known):
    rng, there = np.random.default_rng(0), np.arange(400) < 200
    cosines = rng.standard_normal(400) / math.sqrt(5000) + 0.5 * there
    distances = {"canary_cosines": cosines[None], "canary_included": np.tile(there, (30, 1))}
    found = only(clients.final_model(make_known(distances=distances)), "moments")
    assert found.lower_bound > found.epsilon and not found.refuted and found.sure == "estimate"
    assert not list(clients.final_model(make_known()))


def test_noise_on_what_nothing_bounds_protects_nobody(make_known):
    budget = {"name": "global_dp", "budget": {"epsilon": 8.0, "delta": 1e-3}}
    (found,) = uploads.unbounded(make_known(scheme=budget, clip_l2=np.inf, noise_multiplier=0.0))
    assert found.refuted and found.kind == "nominal" and found.lower_bound == math.inf
    assert not list(uploads.unbounded(make_known(scheme=budget)))
    (clear,) = uploads.clear(make_known(scheme=NBAFL, **WEIGHTS, upload_noise_std=0.1, clear_values=3))
    assert clear.lower_bound == math.inf


def test_a_client_that_takes_its_noise_along_breaks_the_account_of_sums(make_known):
    known = make_known(**JOINT, parameters=82_000)
    (total,), (single,) = uploads.total(known), uploads.single(known)
    assert total.kind.startswith("not a guarantee: ") and total.refuted and not broken_guarantees([total])
    assert single.lower_bound > total.epsilon
    assert not list(uploads.total(make_known(**JOINT | {"topped_up": True, "noise_shares": 40})))


def test_an_example_that_turns_a_clipped_mean_round_breaks_the_account_of_c(make_known):
    (found,) = uploads.batch_examples(make_known(**JOINT))
    assert found.kind.startswith("not a guarantee: ") and found.refuted
    assert not list(uploads.batch_examples(make_known(**JOINT, per_example_clip=True)))


def test_only_a_guarantee_that_is_refuted_is_an_error():
    def found(kind, lower_bound, broken=""):
        return Finding("outlier", "client (moments C)", kind, 1.0, 1e-3, lower_bound, 1.0, "no run", broken)

    assert broken_guarantees([found("guarantee", 1.1)])
    assert broken_guarantees([found("guarantee", 0.1, "no noise")])
    for fine in (found("guarantee", 1.0), found("estimate", 9.0), found("label", math.inf)):
        assert not broken_guarantees([fine])


def test_means_over_those_present_have_no_exact_loss_here_and_are_not_attacked(make_known):
    known = make_known(distances=followed(0.2), denominator="present")
    assert not [*clients.outlier(known), *clients.followed_client(known), *clients.frequency(known)]
