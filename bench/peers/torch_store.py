"""A table of torch: the kernels that a home-made parameter server would use."""

from __future__ import annotations

import torch


class TorchStore:
    """rows x dim float32 with torch's own sparse Adagrad. Ids are static: 0 .. rows-1."""

    def __init__(self, rows: int, dim: int) -> None:
        torch.set_num_threads(1)
        self.weight = torch.nn.Parameter(torch.randn(rows, dim))
        self.optimizer = torch.optim.Adagrad([self.weight], lr=0.05)

    @torch.no_grad()
    def pull(self, keys: torch.Tensor) -> torch.Tensor:
        """Rows of keys (n,) int64: (n, dim)."""
        return self.weight.detach().index_select(0, keys)

    def push(self, keys: torch.Tensor, gradients: torch.Tensor) -> int:
        """One Adagrad step of the touched rows."""
        self.weight.grad = torch.sparse_coo_tensor(
            keys.unsqueeze(0), gradients, self.weight.shape, check_invariants=False
        )
        self.optimizer.step()
        return 0
