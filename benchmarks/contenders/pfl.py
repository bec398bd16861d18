"""Apple's pfl-research: its simulated backend, federated averaging, and for noise its Gaussian mechanism."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
import work
from laps import Laps
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
from workload import Workload

CHUNKED = NNEvalHyperParams(local_batch_size=work.EVALUATION_CHUNK)


class Network(torch.nn.Module):
    """The network with the two methods that pfl asks for; images come as uint8."""

    def __init__(self, workload: Workload) -> None:
        super().__init__()
        self.module = work.network(workload)

    def loss(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self.module(work.floats(images)), labels)

    @torch.no_grad()
    def metrics(self, images: torch.Tensor, labels: torch.Tensor) -> dict[str, Weighted]:
        right = (self.module(work.floats(images)).argmax(1) == labels).sum()
        return {"accuracy": Weighted(float(right), len(labels))}


class Watch(Postprocessor):
    """Notes every update that reaches the server; placed after a mechanism, it sees them clipped."""

    def __init__(self, laps: Laps) -> None:
        self.laps = laps

    def postprocess_one_user(self, *, stats: Any, user_context: Any) -> tuple[Any, Metrics]:
        self.laps.update(user_context.num_datapoints)
        if self.laps.warming:
            squares = sum(float(tensor.double().square().sum()) for tensor in stats.get_weights()[1])
            self.laps.norm(squares**0.5)
        return stats, Metrics()


class Evaluate(TrainingProcessCallback):
    """Evaluates on the test images when it is due."""

    def __init__(self, laps: Laps, test: Dataset) -> None:
        self.laps, self.test = laps, test

    def after_central_iteration(
        self, aggregate_metrics: Metrics, model: Any, *, central_iteration: int
    ) -> tuple[bool, Metrics]:
        self.laps.after_round(lambda: self._accuracy(model))
        return False, Metrics()

    def _accuracy(self, model: Any) -> float:
        metrics = model.evaluate(self.test, eval_params=CHUNKED)
        return float(metrics[StringMetricName("accuracy")].overall_value)


def make_model(workload: Workload) -> PyTorchModel:
    """Return the network with work's initial weights, the clients' optimiser and the server's."""
    network = Network(workload)
    server = torch.optim.SGD(network.parameters(), lr=workload.rate)
    return PyTorchModel(network, work.optimizer(workload), server)


def local(workload: Workload) -> NNTrainHyperParams:
    """Return what a client does; pfl takes batches in order, so its examples come shuffled."""
    return NNTrainHyperParams(
        local_num_epochs=1, local_learning_rate=workload.local_rate, local_batch_size=workload.batch
    )


def race(workload: Workload, path: Path, laps: Laps, dtype: str) -> dict[str, Any]:
    """Train; users are drawn without replacement, which pfl's own random sampler does not do."""
    data, model = work.load(path), make_model(workload)
    shares = work.shares(workload, data)
    users = iter(
        [int(client) for round_number in range(laps.total) for client in work.cohort(workload, round_number)]
    )

    def user(client: int) -> Dataset:
        rows = torch.from_numpy(shares[client])
        rows = rows[torch.randperm(len(rows))]
        return Dataset((data.x_train[rows], data.y_train[rows]), user_id=str(client))

    start = parameters_to_vector(model.pytorch_model.parameters()).detach()
    seen: list[Postprocessor] = [Watch(laps)]
    if workload.clip:
        seen.insert(0, CentrallyAppliedPrivacyMechanism(GaussianMechanism(workload.clip, workload.noise)))
    train = FederatedDataset(user, lambda: next(users))
    # Local metrics of each user would be further work; pfl then takes them in the first round only.
    algorithm = NNAlgorithmParams(
        central_num_iterations=laps.total,
        evaluation_frequency=laps.total,
        train_cohort_size=workload.cohort,
        val_cohort_size=None,
    )
    FederatedAveraging().run(
        algorithm,
        SimulatedBackend(train, train, seen),
        model,
        local(workload),
        callbacks=[Evaluate(laps, Dataset((data.x_test, data.y_test)))],
        send_metrics_to_platform=False,
    )
    end = parameters_to_vector(model.pytorch_model.parameters()).detach()
    return {"moved": float((end - start).norm()), "library": f"pfl {version('pfl')}"}


def update(
    workload: Workload, path: Path, weights: torch.Tensor, rows: np.ndarray, dtype: str
) -> torch.Tensor:
    """Return the update [d] of the client that holds `rows`."""
    data, model = work.load(path), make_model(workload)
    vector_to_parameters(weights, model.pytorch_model.parameters())
    before = model.get_parameters()
    PyTorchSGDBridge.do_sgd(model, Dataset((data.x_train[rows], data.y_train[rows])), local(workload))
    return parameters_to_vector(model.get_model_difference(before).values())
