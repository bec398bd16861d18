"""Metrics are what they are by definition, counted by hand and by scikit-learn, of the labels that count."""

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from sklearn import metrics as of_sklearn
from support.made_run import BINARY, RUN, go, write_noise

from fedpriv.config.run import Run
from fedpriv.data import arrays
from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.local.client import local_engine
from fedpriv.local.loss import Loss
from fedpriv.local.work import Speed
from fedpriv.train.evaluate import METRICS
from fedpriv.train.loop import task_for

CLASSES, MANY, NUMBERS = map(Loss, ("cross_entropy", "binary_cross_entropy", "mean_squared_error"))
N, K = 40, 3
rng = np.random.default_rng(0)
LOGITS = torch.from_numpy(rng.standard_normal((N, K), dtype=np.float32))
LABELS = torch.from_numpy(rng.integers(0, K, N))
SEVERAL = torch.from_numpy(rng.integers(-1, 2, (N, K)))


def one(name, loss, outputs, labels):
    return METRICS[name](loss, outputs, labels)


def test_classes_have_the_scores_of_scikit_learn():
    said, shares = LOGITS.argmax(1), LOGITS.double().softmax(1)
    area = of_sklearn.roc_auc_score(LABELS, shares, multi_class="ovr")
    assert one("auroc", CLASSES, LOGITS, LABELS) == pytest.approx(area)
    assert one("f1", CLASSES, LOGITS, LABELS) == of_sklearn.f1_score(LABELS, said, average="macro")
    loss = of_sklearn.log_loss(LABELS, shares)
    assert one("perplexity", CLASSES, LOGITS, LABELS) == pytest.approx(np.exp(loss), rel=1e-5)


def test_positions_are_labels_like_any_others_and_what_is_ignored_is_none():
    outputs, labels = LOGITS.view(8, 5, K), LABELS.view(8, 5).clone()
    for name in ("perplexity", "auroc", "f1"):
        assert one(name, CLASSES, outputs, labels) == one(name, CLASSES, LOGITS, LABELS)
    labels[2:] = -1
    for name in ("perplexity", "auroc", "f1"):
        assert one(name, CLASSES, outputs, labels) == one(name, CLASSES, LOGITS[:10], LABELS[:10])


def test_labels_each_for_itself_have_the_mean_of_their_scores():
    expected = {"auroc": [], "f1": []}
    for k in range(K):
        known = SEVERAL[:, k] >= 0
        truth, score = SEVERAL[known, k], LOGITS[known, k]
        expected["auroc"].append(of_sklearn.roc_auc_score(truth, score))
        hit = int(((score > 0) & (truth == 1)).sum())
        expected["f1"].append(2 * hit / (int((score > 0).sum()) + int((truth == 1).sum())))
    for name, scores in expected.items():
        assert one(name, MANY, LOGITS, SEVERAL) == pytest.approx(np.mean(scores))


def test_predicted_numbers_have_an_error_and_what_outputs_do_not_mean_is_nan():
    there = torch.from_numpy(rng.standard_normal((N, K), dtype=np.float32))
    assert one("error", NUMBERS, LOGITS, there) == pytest.approx(float((LOGITS - there).abs().mean()))
    for name in ("perplexity", "auroc", "f1"):
        assert np.isnan(one(name, NUMBERS, LOGITS, there))
    assert np.isnan(one("error", CLASSES, LOGITS, LABELS))
    same = torch.zeros(N, dtype=torch.int64)
    assert np.isnan(one("auroc", CLASSES, LOGITS[:, :1], same))  # a class that all have


def test_the_worst_owner_and_the_spread_are_of_the_accuracies_of_owners(tmp_path):
    data = arrays.load(write_noise(tmp_path / "noise.npz"))._replace(owner_test=np.arange(20) // 7)
    files = arrays.save(tmp_path / "owned.npz", data)
    asked = {"evaluation": {"metrics": ["owner_std", "worst_owner"]}, "rounds": 1}
    row = pd.read_parquet(go(RUN | asked, files, tmp_path / "out") / "trace.parquet").iloc[-1]
    # By hand: of three owners with 7, 7 and 6 examples, whose accuracies have this mean.
    task = task_for(Run.model_validate(RUN), data, torch.device("cpu"))
    flat = load_file(tmp_path / "out" / "model.safetensors")["flat"]
    with local_engine(task, Speed(device="cpu")) as engine:
        said = engine.logits(flat, torch.from_numpy(data.x_test)).argmax(1).numpy()
    right = [(said == data.y_test)[data.owner_test == owner].mean() for owner in range(3)]
    assert row["test_worst_owner"] == min(right)
    assert row["test_owner_std"] == pytest.approx(np.std(right))


def test_a_metric_of_owners_is_refused_where_nobody_knows_them_and_validation_keeps_them(tmp_path):
    files = write_noise(tmp_path / "noise.npz")
    asked = RUN | {"evaluation": {"metrics": ["worst_owner"]}, "rounds": 1}
    with pytest.raises(BadInput, match=r"metrics: found worst_owner .* nobody knows the owners, allowed: "):
        go(asked, files, tmp_path / "out")
    data = arrays.load(files)._replace(owner=np.arange(80) % 4)
    held = arrays.hold_out(data, 30, np.random.default_rng(0))
    assert len(held.owner) == 50 and len(held.owner_test) == 30
    for images, owners in ((held.x_train, held.owner), (held.x_test, held.owner_test)):
        places = [int(np.flatnonzero((data.x_train == image).all((1, 2)))[0]) for image in images]
        np.testing.assert_array_equal(owners, data.owner[places])


@pytest.mark.parametrize("more", [{}, BINARY], ids=["server", "clients"])
def test_a_trace_has_what_was_asked_for_where_it_was_evaluated_and_nothing_else_changes(more, tmp_path):
    files = write_noise(tmp_path / "noise.npz")
    base = RUN | {"rounds": 3, "evaluate_every": 2} | more
    asked = base | {"evaluation": base.get("evaluation", {}) | {"metrics": ["auroc", "perplexity"]}}
    without, trace = (
        pd.read_parquet(go(run, files, tmp_path / name) / "trace.parquet")
        for name, run in (("without", base), ("asked", asked))
    )
    columns = ["test_auroc", "test_perplexity"]
    assert (trace[columns].notna().all(axis=1) == trace["test_accuracy"].notna()).all()
    assert trace[["test_f1", "test_error"]].isna().all(axis=None)
    assert without[columns].isna().all(axis=None)
    measured_anew = [*columns, "seconds", "peak_mib"]
    assert without.drop(columns=measured_anew).equals(trace.drop(columns=measured_anew))
    if not more:
        np.testing.assert_allclose(np.exp(trace["test_loss"]), trace["test_perplexity"], rtol=1e-5)


def test_metrics_are_in_the_identity_where_they_are_asked_for_and_only_those_of_the_loss():
    plain, none, some = (
        Run.model_validate(RUN | {"evaluation": one}) for one in ({}, {"metrics": []}, {"metrics": ["f1"]})
    )
    assert plain.identity("x", 0) == none.identity("x", 0) != some.identity("x", 0)
    assert "metrics" not in plain.training()["evaluation"]
    wrong = RUN | {"loss": "mean_squared_error", "evaluation": {"metrics": ["error", "f1"]}}
    with pytest.raises(BadInput, match=r"metrics: found f1 with loss mean_squared_error, allowed: error"):
        parse(Run.model_validate, wrong, "x")
