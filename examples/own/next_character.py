"""Two networks that guess the next character, as anybody might write them: nothing here knows of fedpriv."""

import torch
from torch import nn


class LSTM(nn.Module):
    """An embedding, `layers` of LSTM, a linear map: logits `[n, t, characters]` of characters `[n, t]`."""

    def __init__(self, characters: int = 96, width: int = 64, layers: int = 1) -> None:
        super().__init__()
        self.embed = nn.Embedding(characters, 8)
        self.lstm = nn.LSTM(8, width, layers, batch_first=True)
        self.head = nn.Linear(width, characters)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return what may follow each character, of which it has seen that and those before."""
        return self.head(self.lstm(self.embed(x))[0])


class Last(LSTM):
    """The same, of what follows the last character alone: logits `[n, characters]`."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return what may follow all of them."""
        return super().forward(x)[:, -1]


class Transformer(nn.Module):
    """Embeddings of characters and positions, `layers` of causal attention, a linear map: the same logits."""

    def __init__(
        self, characters: int = 96, positions: int = 50, width: int = 32, heads: int = 4, layers: int = 2
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(characters, width)
        self.place = nn.Parameter(torch.randn(positions, width) / width**0.5)
        layer = nn.TransformerEncoderLayer(
            width, heads, 2 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, characters)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return what may follow each character, of which it has seen that and those before."""
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
        return self.head(self.layers(self.embed(x) + self.place, mask=mask, is_causal=True))
