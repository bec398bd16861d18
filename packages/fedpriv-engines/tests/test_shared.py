"""Clients that hold the same examples share their gradients, and each has what it would have by itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from fedpriv_engines import native
from fedpriv_engines.native.gradients import CompiledGradients, head_engine
from hypothesis import given, settings
from hypothesis import strategies as st

from fedpriv.local import shared
from fedpriv.local.client import Client, Task
from fedpriv.local.threads import CpuBackend
from fedpriv.local.work import FedSGD, Speed
from fedpriv.models.nets import Cnn

pytestmark = pytest.mark.skipif(not native.available("cnn5"), reason=native.why_not("cnn5"))

RNG = np.random.default_rng(3)
IMAGES = torch.from_numpy(RNG.integers(0, 256, (40, 28, 28), dtype=np.uint8))
TASK = Task(Cnn(widths=(2, 3)), 4, IMAGES, torch.from_numpy(RNG.integers(0, 4, 40)))
WEIGHTS = TASK.model.initial(4, (1, 28, 28), RNG)
HELD = st.lists(st.lists(st.integers(0, 39), max_size=30), min_size=1, max_size=6)


def batches_of(held: list[list[int]]) -> list[torch.Tensor]:
    return [torch.tensor(rows, dtype=torch.int64) for rows in held]


def summed(held: list[list[int]], threads: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the shared sums of gradients and of losses, of clients with these rows."""
    with CpuBackend(TASK, Speed(threads=threads)) as backend, ThreadPoolExecutor(threads) as pool:
        assert backend.engine
        return shared.sum_gradients(backend.engine, TASK, WEIGHTS, batches_of(held), pool)


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    """Let a block have 16 examples and a call 7, so that a client's rows are in several of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared, "NUMBERS", 16 * len(WEIGHTS))
        patch.setattr(shared, "CHUNK", 7)
        yield


@settings(deadline=None, max_examples=25)
@given(held=HELD)
def test_each_client_has_the_sums_at_its_own_rows_even_at_one_that_it_holds_twice(held):
    sums, losses = summed(held)
    with CpuBackend(TASK, Speed(threads=1)) as backend:
        for rows, total, loss in zip(batches_of(held), sums, losses, strict=True):
            alone = backend.engine.gradient(TASK.inputs, TASK.labels, rows, WEIGHTS)
            torch.testing.assert_close(total, alone.total, rtol=1e-4, atol=1e-5)
            assert float(loss) == pytest.approx(alone.loss, rel=1e-6)


def test_a_clients_bits_depend_neither_on_the_threads_nor_on_the_other_clients():
    held = [[*range(0, 40, 2)], [*range(0, 40, 3)], [39, 1, 17, 17]]
    sums, losses = summed(held)
    for others in ([held[1]], [[*range(40)], held[1]], [held[1], [1], []]):
        again, loss = summed(others, threads=1)
        place = others.index(held[1])
        assert torch.equal(again[place], sums[1])
        assert loss[place] == losses[1]


@pytest.mark.parametrize("batch_size", [None, 8])
def test_a_round_of_clients_with_the_same_examples_computes_each_gradient_once(monkeypatch, batch_size):
    def updates(enough: float) -> tuple[torch.Tensor, torch.Tensor]:
        clients = [Client(np.arange(20), np.random.default_rng(seed)) for seed in range(12)]
        monkeypatch.setattr(shared, "ENOUGH", enough)
        with CpuBackend(TASK, Speed(threads=2)) as backend:
            results = backend.train_clients(FedSGD(batch_size=batch_size), WEIGHTS, clients)
        return results.updates, results.losses

    apart, computed = updates(np.inf), []
    each = CompiledGradients.each

    def counted(engine, inputs, labels, rows, *rest):
        computed.extend(rows.tolist())
        return each(engine, inputs, labels, rows, *rest)

    monkeypatch.setattr(CompiledGradients, "each", counted)
    together = updates(2.0)
    assert sorted(computed) == sorted({*computed})
    for one, other in zip(apart, together, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_gradients_are_shared_where_that_pays():
    with CpuBackend(TASK, Speed(threads=1)) as backend:
        assert backend.engine
        same, apart = batches_of([[1, 2], [1, 2]]), batches_of([[1, 2], [2, 3]])
        assert shared.pays(backend.engine, 100, same)
        assert not shared.pays(backend.engine, 100, apart)  # an example is held by 1.3
        assert not shared.pays(backend.engine, 100, [])
        assert not shared.pays(backend.engine, shared.LONGEST + 1, same)
        assert not shared.pays(
            head_engine(3, 2), 100, same
        )  # to add a gradient costs as much as to compute it
