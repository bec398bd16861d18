import numpy as np
import pytest

from fedpriv.data.features.extract import standardise

RAW = (np.random.default_rng(0).normal(5, 3, (3000, 40)) * np.logspace(-1, 1, 40)).astype(np.float16)


def test_plain_features_have_mean_0_one_spread_and_a_mean_squared_norm_of_1():
    made = standardise(RAW, RAW).astype(float)
    assert made.mean(0) == pytest.approx(np.zeros(40), abs=1e-4)
    assert made.std(0) == pytest.approx(np.full(40, 40**-0.5), rel=1e-2)
    assert (made**2).sum(1).mean() == pytest.approx(1, rel=1e-2)


def test_others_are_moved_as_the_plain_ones_are():
    assert np.array_equal(standardise(RAW[5:9], RAW), standardise(RAW, RAW)[5:9])


def test_a_feature_that_never_varies_stays_finite():
    raw = RAW.copy()
    raw[:, 3] = 7
    made = standardise(raw, raw)
    assert np.isfinite(made).all() and not made[:, 3].any()


def test_what_is_far_from_its_mean_is_cut_and_nothing_else():
    whole, cut = standardise(RAW, RAW), standardise(RAW, RAW, reach=1.5)
    most = np.float16(1.5 / np.sqrt(RAW.shape[1]))
    assert np.abs(whole).max() > most and np.array_equal(cut, whole.clip(-most, most))
