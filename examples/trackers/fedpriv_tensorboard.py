"""Every round of a run for TensorBoard, while it is trained: `tensorboard --logdir runs` draws it."""

from collections.abc import Callable
from math import isfinite
from typing import Any

from torch.utils.tensorboard import SummaryWriter


def follow(title: str) -> Callable[[dict[str, Any]], None]:
    """Return what writes the numbers of a round; `title` has the run and its seed."""
    writer = SummaryWriter(f"runs/{title}")

    def report(row: dict[str, Any]) -> None:
        for name, value in row.items():
            if isinstance(value, int | float) and isfinite(value):
                writer.add_scalar(name, value, row["round"])
        writer.flush()

    return report
