"""One example of a softmax moves its clipped mean gradient by at most what docs/privacy-budget.md says."""

import torch
from fedpriv_studies.basis import LARGEST
from fedpriv_studies.heads import Softmax
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from fedpriv.mechanisms.clipping import clip

MODEL, CLASSES, WIDTH = Softmax(directions=5), 4, 5
MOST = (2 * (LARGEST**2 + MODEL.constant**2)) ** 0.5  # norm of a gradient at one example


def gradients(x: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return the gradient of every example, `[n, d]`, by autograd."""

    def loss(weights: torch.Tensor, x: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        size = CLASSES * WIDTH
        params = {"head.weight": weights[:size].view(CLASSES, WIDTH), "head.bias": weights[size:]}
        return F.cross_entropy(MODEL.apply(params, x[None]), label[None])

    return torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(weights, x, labels)


def clipped_mean(rows: torch.Tensor, bound: float) -> torch.Tensor:
    """Return what a client with these gradients sends."""
    return clip(rows.mean(0, keepdim=True), bound)[0].updates[0]


def held(seed: int, n: int, longest: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return features that reach the bound, and labels."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, WIDTH, generator=generator, dtype=torch.float64)
    lengths = longest * torch.rand(n, 1, generator=generator, dtype=torch.float64).sqrt()
    return F.normalize(x) * lengths, torch.randint(CLASSES, (n,), generator=generator)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    scale=st.sampled_from([0.0, 1.0, 30.0]),
    bound=st.sampled_from([0.02, 0.2, 5.0]),
)
def test_an_example_moves_the_clipped_mean_by_at_most_its_share(seed, n, scale, bound):
    x, labels = held(seed, n, LARGEST)
    (other,), (label,) = held(seed + 1, 1, LARGEST)
    weights = scale * torch.randn(CLASSES * (WIDTH + 1), dtype=torch.float64)
    rows = gradients(x, labels, weights)
    sent = clipped_mean(rows, bound)
    assert float(rows.norm(dim=1).max()) <= MOST
    without, replaced = rows.clone(), rows.clone()
    without[0] = 0
    replaced[0] = gradients(other[None], label[None], weights)[0]
    assert float((clipped_mean(without, bound) - sent).norm()) <= MOST / n + 1e-7
    assert float((clipped_mean(replaced, bound) - sent).norm()) <= 2 * MOST / n + 1e-7


def test_the_worst_example_moves_it_as_far_so_no_smaller_bound_holds():
    """Who knows the weights holds the longest features, of which they say another class."""
    x = torch.zeros(2, WIDTH, dtype=torch.float64)
    x[:, 0] = LARGEST
    weights = torch.zeros(CLASSES * (WIDTH + 1), dtype=torch.float64)
    weights[WIDTH] = 100.0  # what class 1 makes of the first direction
    rows = gradients(x, torch.tensor([0, 1]), weights)  # wrong at the first, right at the second
    without = rows.clone()
    without[0] = 0
    moved = float((clipped_mean(rows, 5.0) - clipped_mean(without, 5.0)).norm())
    assert 0.99 * MOST / 2 < moved <= MOST / 2 + 1e-7
