"""FedLab in one process: its serial trainer, its synchronous server and its pipeline; it knows no noise."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import work
from fedlab.contrib.algorithm.basic_client import SGDSerialClientTrainer
from fedlab.contrib.algorithm.basic_server import SyncServerHandler
from fedlab.core.standalone import StandalonePipeline
from laps import Laps
from workload import Workload

Batch = tuple[torch.Tensor, torch.Tensor]


class Shares:
    """Who holds what, as FedLab asks for it, without the cost of a data loader."""

    def __init__(self, workload: Workload, data: work.Data) -> None:
        self.data, self.rows = data, torch.from_numpy(work.shares(workload, data))

    def get_dataloader(self, client: int, batch_size: int) -> Iterator[Batch]:
        """Yield a client's examples once, shuffled, a batch at a time."""
        rows = self.rows[client]
        for batch in rows[torch.randperm(len(rows))].split(batch_size):
            yield work.floats(self.data.x_train[batch]), self.data.y_train[batch]


class Trainer(SGDSerialClientTrainer):
    """FedLab's serial trainer with the workload's optimiser, fresh for each client."""

    def setup(self, workload: Workload, shares: Shares) -> None:
        self.workload = workload
        self.setup_dataset(shares)
        self.setup_optim(1, workload.batch, workload.local_rate)

    def train(self, model_parameters: torch.Tensor, train_loader: Iterator[Batch]) -> list[torch.Tensor]:
        """Return a client's weights and how many examples it has worked through."""
        seen = 0

        def counted() -> Iterator[Batch]:
            nonlocal seen
            for images, labels in train_loader:
                seen += len(labels)
                yield images, labels

        make: Any = work.optimizer(self.workload)
        self.optimizer = make(self.model.parameters(), lr=self.lr)
        (weights,) = super().train(model_parameters, counted())
        return [weights, torch.tensor(seen)]


class Server(SyncServerHandler):
    """FedLab's server, which notes what it is given."""

    def watch(self, laps: Laps) -> None:
        self.laps = laps

    def load(self, payload: list[torch.Tensor]) -> bool:
        weights, examples = payload
        self.laps.update(int(examples))
        if self.laps.warming:
            self.laps.norm(float((weights - self.model_parameters).norm()))
        return super().load(payload)


class Pipeline(StandalonePipeline):
    """FedLab's loop, which evaluates when it is due."""

    def watch(self, laps: Laps, data: work.Data) -> None:
        self.laps, self.data = laps, data

    def evaluate(self) -> None:
        model, data = self.handler.model, self.data
        self.laps.after_round(lambda: work.accuracy(model, data.x_test, data.y_test))


def race(workload: Workload, path: Path, laps: Laps, dtype: str) -> dict[str, Any]:
    """Train with torch's own number of threads."""
    logging.getLogger().setLevel(logging.ERROR)
    data, model = work.load(path), work.network(workload)
    server = Server(model, laps.total, workload.cohort / workload.clients)
    trainer = Trainer(model, workload.clients)
    server.watch(laps)
    trainer.setup(workload, Shares(workload, data))
    pipeline = Pipeline(server, trainer)
    pipeline.watch(laps, data)
    start = server.model_parameters.clone()
    pipeline.main()
    moved = float((server.model_parameters - start).norm())
    return {"moved": moved, "library": f"fedlab {version('fedlab')}"}
