"""Training and evaluation, the same for the model on Hotrow and for its local twin."""

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from dlrm.model import ClickModel
from hotrow.data import Dataset, auc, logloss

__all__ = ["Batches", "Progress", "Trainer"]


class Batches:
    """Mini-batches of a data set as tensors, shuffled anew, but reproducibly, each epoch.

    Parameters
    ----------
    dataset : Dataset
    sparse : (n, features) array of int64
        What the embedding takes: the keys themselves, or rows of a local table.
    batch : int
    seed : int
    """

    def __init__(self, dataset: Dataset, sparse: np.ndarray, batch: int, seed: int) -> None:
        self._sparse = torch.from_numpy(np.ascontiguousarray(sparse))
        self._dense = torch.from_numpy(np.ascontiguousarray(dataset.dense))
        self._labels = torch.from_numpy(np.ascontiguousarray(dataset.labels))
        self._batch = batch
        self._seed = seed

    def __len__(self) -> int:
        return -(-len(self._labels) // self._batch)

    @property
    def labels(self) -> np.ndarray:
        """(n,) float32, in the order of `ordered`."""
        return self._labels.numpy()

    def shuffled(self, epoch: int) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
        """Yield (sparse, dense, labels) of every batch of an epoch."""
        draws = torch.Generator().manual_seed(self._seed * 1000 + epoch)
        order = torch.randperm(len(self._labels), generator=draws)
        for rows in order.split(self._batch):
            yield self._sparse[rows], self._dense[rows], self._labels[rows]

    def ordered(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield (sparse, dense) of every batch in file order."""
        yield from zip(self._sparse.split(self._batch), self._dense.split(self._batch), strict=True)


@dataclass
class Progress:
    """What a training run showed so far.

    Attributes
    ----------
    losses : list of float
        Of each step.
    tested_at : list of int
        Numbers of steps after which the model was tested.
    aucs, loglosses : list of float
        On the test examples, then.
    seconds, samples : float, int
        Of the steps since the thread count was chosen; of all while it is not.
    embedding_seconds : float
        The part of `seconds` in the embedding's forward and its optimizer.
    threads : int
    """

    losses: list[float] = field(default_factory=list)
    tested_at: list[int] = field(default_factory=list)
    aucs: list[float] = field(default_factory=list)
    loglosses: list[float] = field(default_factory=list)
    seconds: float = 0.0
    samples: int = 0
    embedding_seconds: float = 0.0
    threads: int = 1

    def count(self, seconds: float, embedding_seconds: float, samples: int) -> None:
        """Add a step's time."""
        self.seconds += seconds
        self.embedding_seconds += embedding_seconds
        self.samples += samples

    def forget_time(self) -> None:
        """Start measuring afresh."""
        self.seconds = self.embedding_seconds = 0.0
        self.samples = 0

    @property
    def samples_per_second(self) -> float:
        """Training throughput."""
        return self.samples / self.seconds if self.seconds else float("nan")


class ThreadTuner:
    """Finds the faster of several thread counts by taking turns in the first steps of training.

    Each count gets `ROUNDS` turns of `TURN` steps; its fastest turn counts, as noise only slows.
    The first turn of all warms up and counts for none.
    """

    TURN = 4
    ROUNDS = 3

    def __init__(self, counts: tuple[int, ...]) -> None:
        self._counts = counts
        self._best = dict.fromkeys(counts, float("inf"))
        self._schedule = [counts[0], *counts * self.ROUNDS] if len(counts) > 1 else []
        self._turn = 0
        self._steps: list[float] = []

    @property
    def done(self) -> bool:
        """True once the thread count is settled."""
        return self._turn >= len(self._schedule)

    @property
    def threads(self) -> int:
        """The fastest count so far."""
        return min(self._best, key=self._best.get)

    def set_threads(self) -> None:
        """Make torch use the count whose turn it is."""
        torch.set_num_threads(self.threads if self.done else self._schedule[self._turn])

    def record(self, seconds: float) -> None:
        """Take note of one step, and change the thread count when its turn is over."""
        self._steps.append(seconds)
        if len(self._steps) < self.TURN:
            return
        count = self._schedule[self._turn]
        if self._turn > 0:
            self._best[count] = min(self._best[count], sum(self._steps))
        self._steps.clear()
        self._turn += 1
        self.set_threads()


class Timed(nn.Module):
    """Adds up the time that a module's forward takes."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        self.seconds = 0.0

    def forward(self, sparse: torch.Tensor) -> torch.Tensor:
        """Call the module."""
        start = time.perf_counter()
        rows = self.module(sparse)
        self.seconds += time.perf_counter() - start
        return rows


class Trainer:
    """Trains one model, some batches at a time.

    Parameters
    ----------
    name : str
        Shown beside the progress bar.
    model : ClickModel
        Its embedding is wrapped so that its time is known.
    sparse_optimizer
        Of the embedding: anything with step() and zero_grad().
    dense_lr : float
    thread_counts : tuple of int
        The faster one is found in the first steps, which do not count as throughput.
    """

    def __init__(
        self,
        name: str,
        model: ClickModel,
        sparse_optimizer: object,
        dense_lr: float,
        thread_counts: tuple[int, ...],
    ) -> None:
        self.name = name
        self.progress = Progress()
        self._model = model
        self._timed = model.embedding = Timed(model.embedding)
        self._sparse_optimizer = sparse_optimizer
        self._dense_optimizer = torch.optim.Adam(model.dense_parameters(), lr=dense_lr)
        self._loss = nn.BCEWithLogitsLoss()
        self._tuner = ThreadTuner(thread_counts)

    def train(self, batches: Iterator[tuple[torch.Tensor, ...]], count: int) -> None:
        """Run the next `count` batches of an epoch."""
        self._model.train()
        self._tuner.set_threads()
        bar = tqdm(
            itertools.islice(batches, count),
            total=count,
            desc=f"training {self.name}",
            unit="batch",
            disable=None,  # None: off where standard error is no terminal
            leave=False,
        )
        for sparse, dense, labels in bar:
            loss = self._step(sparse, dense, labels)
            self.progress.losses.append(loss)
            bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
        self.progress.threads = self._tuner.threads

    def test(self, batches: Batches) -> None:
        """Predict every example in order; adds AUC and logloss to the progress."""
        self._model.eval()
        with torch.no_grad():
            logits = torch.cat([self._model(*batch) for batch in batches.ordered()]).numpy()
        self.progress.tested_at.append(len(self.progress.losses))
        self.progress.aucs.append(auc(batches.labels, logits))
        self.progress.loglosses.append(logloss(batches.labels, logits))

    def _step(self, sparse: torch.Tensor, dense: torch.Tensor, labels: torch.Tensor) -> float:
        self._timed.seconds = 0.0
        start = time.perf_counter()
        loss = self._loss(self._model(sparse, dense), labels)
        self._dense_optimizer.zero_grad(set_to_none=True)
        self._sparse_optimizer.zero_grad()
        loss.backward()
        self._dense_optimizer.step()
        before_push = time.perf_counter()
        self._sparse_optimizer.step()
        end = time.perf_counter()
        self.progress.count(end - start, self._timed.seconds + end - before_push, len(labels))
        if not self._tuner.done:
            self._tuner.record(end - start)
            if self._tuner.done:
                self.progress.forget_time()
        return loss.item()
