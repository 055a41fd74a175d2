"""One of two workers of torch.distributed: python distributed_worker.py ADDRESSES RANK FILE.

Clips and steps with gradients that differ between the workers, and runs DistributedDataParallel
over a model with a Hotrow module that takes no part in the first pass. Prints one JSON line.
"""

import json
import sys

import torch
from torch.nn.parallel import DistributedDataParallel

import hotrow
from hotrow.torch import EmbeddingBag, SparseOptimizer, clip_grad_norm_, ignore_in_ddp


class Model(torch.nn.Module):
    """A dense weight and a bag that may be left out."""

    def __init__(self, table: hotrow.Table) -> None:
        super().__init__()
        self.bag = EmbeddingBag(None, 1, mode="sum", table=table)
        self.dense = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.ones_(self.dense.weight)

    def forward(self, keys: torch.Tensor | None) -> torch.Tensor:
        out = self.dense(torch.ones(1, 1))
        return out if keys is None else out + self.bag(keys)


def clipped(table: hotrow.Table, rank: int) -> dict[str, float]:
    """Dense gradient 3 on both workers; the remote one is 2 on worker 0 and 6 on worker 1."""
    model = Model(table)
    optimizer = SparseOptimizer(model)
    model.dense.weight.grad = torch.tensor([[3.0]])
    (model.bag(torch.tensor([[rank]])).sum() * (2.0 if rank == 0 else 6.0)).backward()
    squared = optimizer.pending_squared_norm()
    norm = clip_grad_norm_(model, 1.0).item()
    optimizer.step()
    return {"squared": squared, "norm": norm, "dense": model.dense.weight.grad.item()}


def passes(table: hotrow.Table, rank: int) -> int:
    """Run three passes, of which the bag takes part in the second only."""
    model = DistributedDataParallel(ignore_in_ddp(Model(table)))
    for keys in (None, torch.tensor([[rank]]), None):
        model(keys).sum().backward()
    return 3


def main(addresses: str, rank: int, file: str) -> None:
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{file}", rank=rank, world_size=2
    )
    with hotrow.connect(addresses, rank=rank, world_size=2) as client:
        result = clipped(client.table("clip"), rank)
        result["passes"] = passes(client.table("clip"), rank)
    torch.distributed.destroy_process_group()
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
