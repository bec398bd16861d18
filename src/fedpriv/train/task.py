"""What a run learns: model, data and loss together, or why they do not go together."""

from __future__ import annotations

import torch

from fedpriv.config.run import Run
from fedpriv.data.arrays import Arrays
from fedpriv.errors import BadInput
from fedpriv.local.client import Task
from fedpriv.local.loss import Loss


def task_for(run: Run, data: Arrays, device: torch.device) -> Task:
    """Return what is learned, with the training data on `device`.

    BadInput says what model or loss cannot read, of the test split too, and which layer is in the way of a
    scheme that needs the gradient of every example.
    """
    task = Task(
        run.model,
        data.classes,
        torch.from_numpy(data.x_train).to(device),
        torch.from_numpy(data.y_train).to(device),
        Loss(run.loss),
    )
    task.examine(torch.from_numpy(data.x_test), torch.from_numpy(data.y_test))
    private = run.scheme.gradient(run.local)
    if private and private.by_example and task.alone:
        raise BadInput(
            f"scheme: found {run.scheme.name}, which needs the gradient of every example, with {task.alone}, "
            "allowed: a scheme of clients, as client_dp; or, in place of nn.LSTM, nn.GRU or nn.RNN, a loop "
            "over the positions with nn.GRUCell, nn.RNNCell or an LSTM cell that is written out"
        )
    return task
