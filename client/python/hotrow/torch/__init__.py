"""Drop-in modules for PyTorch whose rows live on Hotrow servers.

>>> bag = EmbeddingBag(None, 64, mode="mean", table="user", client=client)
>>> optimizer = SparseOptimizer(model)
>>> loss.backward(); optimizer.step(); optimizer.zero_grad()

Gradients are summed per unique key over the whole step (several modules on one table, several
backward passes) and pushed by `SparseOptimizer.step()`, never inside backward.
"""

from hotrow.torch.clip import clip_grad_norm_
from hotrow.torch.embedding import Embedding
from hotrow.torch.embedding_bag import EmbeddingBag
from hotrow.torch.module import ignore_in_ddp
from hotrow.torch.optimizer import SparseOptimizer

__all__ = ["Embedding", "EmbeddingBag", "SparseOptimizer", "clip_grad_norm_", "ignore_in_ddp"]
