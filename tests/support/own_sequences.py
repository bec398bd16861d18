"""Networks of sequences as users write them, and losses of their own."""

import torch
from torch import nn
from torch.nn import functional as F


class Recurrent(nn.Module):
    """The next token by a recurrent layer of torch's own; `seen` are the inputs that came."""

    seen: list[torch.Tensor] = []

    def __init__(self, kind="LSTM", tokens=12, width=6, layers=1, **more):
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.rnn = getattr(nn, kind)(width, width, layers, **{"batch_first": True} | more)
        self.head = nn.Linear(width, tokens)

    def forward(self, x):
        self.seen.append(x)
        return self.head(self.rnn(self.embed(x))[0])


class Cell(nn.Module):
    """The same, a position after the other."""

    def __init__(self, kind="GRUCell", tokens=12, width=6):
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.cell = getattr(nn, kind)(width, width)
        self.head = nn.Linear(width, tokens)

    def forward(self, x):
        state, states = None, []
        for one in self.embed(x).unbind(1):
            state = self.cell(one, state)
            states.append(state)
        return self.head(torch.stack(states, 1))


class Attention(nn.Module):
    """The same by causal attention."""

    def __init__(self, tokens=12, width=8, heads=2):
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.layer = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, tokens)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
        return self.head(self.layer(self.embed(x), src_mask=mask, is_causal=True))


class Flat(nn.Module):
    """A linear map of features, to as many outputs as wanted; one of its parameters is never used."""

    def __init__(self, features=5, outputs=3):
        super().__init__()
        self.head = nn.Linear(features, outputs)
        self.unused = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        return self.head(x)


def hinge(outputs, labels):
    """Return the multi-class hinge loss of every example."""
    return F.multi_margin_loss(outputs, labels, reduction="none")


def of_the_batch(outputs, labels):
    return F.cross_entropy(outputs, labels)


def mixing(outputs, labels):
    return F.cross_entropy(outputs, labels, reduction="none") - outputs.mean()


def branching(outputs, labels):
    return outputs[:, 0] if outputs.isnan().any() else hinge(outputs, labels)
