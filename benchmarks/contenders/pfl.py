"""Apple's pfl-research: its simulated backend, federated averaging and Gaussian mechanism, in one process."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
import work
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.hyperparam.base import NNEvalHyperParams, NNTrainHyperParams
from pfl.internal.bridge.pytorch.sgd import PyTorchSGDBridge
from pfl.metrics import Metrics, StringMetricName, Weighted
from pfl.model.pytorch import PyTorchModel
from pfl.postprocessor.base import Postprocessor
from pfl.privacy.gaussian_mechanism import GaussianMechanism
from pfl.privacy.privacy_mechanism import CentrallyAppliedPrivacyMechanism
from torch.nn import functional as F
from torch.nn.utils import parameters_to_vector, vector_to_parameters

LOCAL = NNTrainHyperParams(local_num_epochs=1, local_learning_rate=1.0, local_batch_size=None)
CHUNKED = NNEvalHyperParams(local_batch_size=work.EVALUATION_CHUNK)


class Network(work.Network):
    """The network with the two methods that pfl asks for; images come as uint8."""

    def loss(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self(work.pixels(images)), labels)

    @torch.no_grad()
    def metrics(self, images: torch.Tensor, labels: torch.Tensor) -> dict[str, Weighted]:
        right = (self(work.pixels(images)).argmax(1) == labels).sum()
        return {"accuracy": Weighted(float(right), len(labels))}


class Watch(Postprocessor):
    """Notes every update that reaches the server; placed after the mechanism, it sees them clipped."""

    def __init__(self, laps: work.Laps) -> None:
        self.laps = laps

    def postprocess_one_user(self, *, stats: Any, user_context: Any) -> tuple[Any, Metrics]:
        self.laps.update(user_context.num_datapoints)
        if self.laps.warming:
            squares = sum(float(tensor.double().square().sum()) for tensor in stats.get_weights()[1])
            self.laps.norms.append(squares**0.5)
        return stats, Metrics()


class Evaluate(TrainingProcessCallback):
    """Evaluates on the test images when it is due."""

    def __init__(self, laps: work.Laps, test: Dataset) -> None:
        self.laps, self.test = laps, test

    def after_central_iteration(
        self, aggregate_metrics: Metrics, model: Any, *, central_iteration: int
    ) -> tuple[bool, Metrics]:
        self.laps.after_round(lambda: self._accuracy(model))
        return False, Metrics()

    def _accuracy(self, model: Any) -> float:
        metrics = model.evaluate(self.test, eval_params=CHUNKED)
        return float(metrics[StringMetricName("accuracy")].overall_value)


def make_model() -> PyTorchModel:
    """Return the network with work's initial weights and the server's optimiser."""
    network = Network()
    network.load_state_dict(work.network().state_dict())
    return PyTorchModel(network, torch.optim.SGD, torch.optim.SGD(network.parameters(), lr=work.RATE))


def race(path: Path, laps: work.Laps, dtype: str) -> dict[str, Any]:
    """Train; users are drawn without replacement, which pfl's own random sampler does not do."""
    data, shares, model = work.load(path), work.split(), make_model()
    users = iter([int(client) for round in range(laps.total) for client in work.cohort(round)])

    def user(client: int) -> Dataset:
        rows = torch.from_numpy(shares[client])
        return Dataset((data.x_train[rows], data.y_train[rows]), user_id=str(client))

    start = parameters_to_vector(model.pytorch_model.parameters()).detach()
    mechanism = CentrallyAppliedPrivacyMechanism(GaussianMechanism(work.CLIP, work.NOISE))
    train = FederatedDataset(user, lambda: next(users))
    # Local metrics of each user would be further work; pfl then takes them in the first round only.
    algorithm = NNAlgorithmParams(
        central_num_iterations=laps.total,
        evaluation_frequency=laps.total,
        train_cohort_size=work.COHORT,
        val_cohort_size=None,
    )
    FederatedAveraging().run(
        algorithm,
        SimulatedBackend(train, train, [mechanism, Watch(laps)]),
        model,
        LOCAL,
        callbacks=[Evaluate(laps, Dataset((data.x_test, data.y_test)))],
        send_metrics_to_platform=False,
    )
    end = parameters_to_vector(model.pytorch_model.parameters()).detach()
    return {"moved": float((end - start).norm()), "library": f"pfl {version('pfl')}"}


def update(path: Path, weights: torch.Tensor, rows: np.ndarray, dtype: str) -> torch.Tensor:
    """Return the update [d] of the client that holds `rows`."""
    data, model = work.load(path), make_model()
    vector_to_parameters(weights, model.pytorch_model.parameters())
    before = model.get_parameters()
    PyTorchSGDBridge.do_sgd(model, Dataset((data.x_train[rows], data.y_train[rows])), LOCAL)
    return parameters_to_vector(model.get_model_difference(before).values())
