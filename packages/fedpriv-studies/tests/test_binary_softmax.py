"""Binary weights on public features: trained as by hand, and a client's ε of 8 as the tables say."""

import numpy as np
import pytest
import torch
from fedpriv_studies.heads import BinarySoftmax
from support.workflow import ROOT
from torch.nn import functional as F

from fedpriv.account import randomized_response
from fedpriv.config.plan import load_preset
from fedpriv.local.client import Client, Task
from fedpriv.local.stacks import GpuBackend
from fedpriv.local.threads import CpuBackend
from fedpriv.local.work import FedAvg, Speed

WIDTH, CLASSES, EXAMPLES = 12, 3, 30
MODEL = BinarySoftmax(directions=WIDTH)
WORK = FedAvg(steps=3, batch_size=10, learning_rate=0.3)
BITS = 650
BUDGET, DELTA = 8.0, 1e-5
RUNS = load_preset(ROOT / "config/guarantees.yaml").runs["guarantees"]


@pytest.fixture
def task():
    rng = np.random.default_rng(0)
    features = torch.from_numpy(0.3 * rng.standard_normal((EXAMPLES, WIDTH))).half()
    return Task(MODEL, CLASSES, features, torch.from_numpy(rng.integers(0, CLASSES, EXAMPLES)))


def by_hand(task: Task, client: Client) -> torch.Tensor:
    """The oracle: signs that are used and real weights that move, in float64."""
    weights = torch.zeros(CLASSES * (WIDTH + 1), dtype=torch.float64)
    for batch in client.mini_batches(WORK):
        used = torch.where(weights >= 0, 1.0, -1.0).double().requires_grad_()
        weight, bias = used[: CLASSES * WIDTH].view(CLASSES, WIDTH), used[CLASSES * WIDTH :]
        logits = task.inputs[batch].double() @ weight.T + MODEL.constant * bias
        gradient = torch.autograd.grad(F.cross_entropy(logits, task.labels[batch]), used)[0]
        weights = (weights - WORK.learning_rate * gradient).clamp(-1, 1)
    return torch.where(weights >= 0, 1.0, -1.0)


@pytest.mark.parametrize("backend", [CpuBackend, GpuBackend])
def test_clients_send_the_signs_of_weights_that_a_loop_in_float64_trains(backend, task):
    def clients() -> list[Client]:
        return [Client(np.arange(one, EXAMPLES, 2), np.random.default_rng(one)) for one in (0, 1)]

    engine = backend(task, Speed(threads=1))
    flat = MODEL.initial(CLASSES, (WIDTH,), np.random.default_rng(0))
    sent = engine.train_clients(WORK, flat, clients(), send_weights=True).updates
    engine.close()
    for row, client in zip(sent, clients(), strict=True):
        assert torch.equal(row, by_hand(task, client).float())


@pytest.mark.parametrize("backend", [CpuBackend, GpuBackend])
def test_a_pass_uses_signs_whatever_the_weights_are(backend, task):
    engine = backend(task, Speed(threads=1))
    flat = torch.randn(CLASSES * (WIDTH + 1), generator=torch.Generator().manual_seed(1))
    assert torch.equal(engine.logits(flat, task.inputs), engine.logits(flat.sign(), task.inputs))
    engine.close()


@pytest.mark.parametrize("seen", ["sum", "upload"])
@pytest.mark.parametrize(("law", "clients"), [("iid", 100), ("iid", 1000), ("noniid", 1000)])
def test_the_flips_of_the_table_are_the_fewest_with_which_a_client_has_the_budget(law, clients, seen):
    run = RUNS[f"binary_{law}_n{clients}_{seen}"]
    seen_in = clients if seen == "sum" else 1

    def spent(gamma: float) -> float:
        def one(order: np.ndarray) -> np.ndarray:
            return randomized_response.divergence(gamma, order, seen_in)

        pure = randomized_response.pure_epsilon(gamma)
        return float(randomized_response.rdp_epsilons(one, [run.rounds * BITS], DELTA, pure)[0][0])

    gamma = run.scheme.model_dump()["gamma"]
    last_digit = 10 ** np.floor(np.log10(gamma) - 2)
    assert spent(gamma) <= BUDGET < spent(gamma + last_digit)
    assert run.account.delta == DELTA and run.model.size(classes=10) == BITS
