"""A DLRM-style click model over any embedding module."""

import torch
from torch import nn

__all__ = ["ClickModel", "Shape"]


class Shape:
    """Sizes of a click model.

    Attributes
    ----------
    features : int
        Categorical features, one key each per example.
    dense : int
        Numeric columns; may be 0.
    dim : int
        Of the embedding rows.
    """

    def __init__(self, features: int, dense: int, dim: int) -> None:
        self.features = features
        self.dense = dense
        self.dim = dim


class ClickModel(nn.Module):
    """Bottom MLP on dense columns, one embedding lookup, pairwise dot products, top MLP.

    The embedding is any module that maps (batch, features) indices or keys to
    (batch, features, dim) rows: Hotrow's, or torch's own. Nothing else differs.
    """

    HIDDEN = 64

    def __init__(self, embedding: nn.Module, shape: Shape) -> None:
        super().__init__()
        self.embedding = embedding
        self.bottom = None
        if shape.dense:
            self.bottom = nn.Sequential(
                nn.Linear(shape.dense, self.HIDDEN),
                nn.ReLU(),
                nn.Linear(self.HIDDEN, shape.dim),
                nn.ReLU(),
            )
        fields = shape.features + (1 if shape.dense else 0)
        left, right = torch.triu_indices(fields, fields, offset=1)
        self.register_buffer("pairs", left * fields + right, persistent=False)
        self.top = nn.Sequential(
            nn.Linear(fields * shape.dim + len(left), self.HIDDEN),
            nn.ReLU(),
            nn.Linear(self.HIDDEN, 1),
        )

    def forward(self, sparse: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
        """Return (batch,) logits. sparse: (batch, features) int64; dense: (batch, columns)."""
        rows = self.embedding(sparse)
        if self.bottom is not None:
            rows = torch.cat([self.bottom(dense).unsqueeze(1), rows], dim=1)
        products = torch.bmm(rows, rows.transpose(1, 2)).flatten(1)
        joined = torch.cat([rows.flatten(1), products.index_select(1, self.pairs)], dim=1)
        return self.top(joined).squeeze(1)

    def dense_parameters(self) -> list[nn.Parameter]:
        """Return the parameters that are no embedding rows."""
        return [
            parameter
            for name, parameter in self.named_parameters()
            if not name.startswith("embedding.")
        ]
