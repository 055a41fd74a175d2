"""Twenty steps through 1, 2 and 3 shards equal the reference, an oracle, and each other."""

import numpy as np
import oracle
import pytest
import torch

import hotrow
from hotrow.torch import EmbeddingBag, SparseOptimizer

ROWS, DIM, BAGS, STEPS = 200, 16, 64, 20
F = np.float32

OPTIMIZERS = {
    "sgd": hotrow.Sgd(lr=0.1),
    "adagrad": hotrow.Adagrad(lr=0.1),
    "rowwise_adagrad": hotrow.RowwiseAdagrad(lr=0.1),
    "adam": hotrow.Adam(lr=0.01),
}


def batches():
    """Keys with many duplicates, offsets, and the gradient of each step's output."""
    rng = np.random.default_rng(7)
    for step in range(STEPS):
        lengths = rng.integers(0, 12, BAGS)
        keys = rng.integers(0, ROWS, lengths.sum()) % rng.integers(1, ROWS + 1, lengths.sum())
        offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        yield keys, offsets, oracle.values_of(np.arange(BAGS) + 1000 * step, DIM)


def start_rows() -> np.ndarray:
    return oracle.values_of(np.arange(ROWS), DIM)


def train_remote(client: hotrow.Client, name: str, optimizer, mode: str) -> np.ndarray:
    table = client.create_table(name, DIM, optimizer=optimizer)
    bag = EmbeddingBag(None, DIM, mode=mode, table=table)
    bag.load_rows(np.arange(ROWS), start_rows())
    sparse = SparseOptimizer(bag)
    for keys, offsets, gradient in batches():
        bag(torch.from_numpy(keys), torch.from_numpy(offsets)).backward(torch.from_numpy(gradient))
        sparse.step()
        sparse.zero_grad()
    return table.pull(np.arange(ROWS))


def bag_gradients(keys, offsets, gradient, mode: str) -> np.ndarray:
    """Gradient of each occurrence."""
    ends = np.append(offsets[1:], len(keys))
    rows = np.empty((len(keys), DIM), F)
    for start, end, row in zip(offsets, ends, gradient, strict=True):
        rows[start:end] = row / F(max(end - start, 1)) if mode == "mean" else row
    return rows


def train_oracle(optimizer, mode: str) -> np.ndarray:
    table = oracle.OracleTable(optimizer, dict(enumerate(start_rows())))
    for step, (keys, offsets, gradient) in enumerate(batches(), 1):
        table.push(keys, bag_gradients(keys, offsets, gradient, mode), step)
    return np.stack([table.rows[key] for key in range(ROWS)])


def train_torch(name: str, mode: str) -> np.ndarray:
    bag = torch.nn.EmbeddingBag(
        ROWS, DIM, mode=mode, sparse=True, _weight=torch.from_numpy(start_rows())
    )
    optimizer = {
        "sgd": lambda: torch.optim.SGD(bag.parameters(), lr=0.1),
        "adagrad": lambda: torch.optim.Adagrad(bag.parameters(), lr=0.1),
        "adam": lambda: torch.optim.SparseAdam(list(bag.parameters()), lr=0.01),
    }[name]()
    for keys, offsets, gradient in batches():
        optimizer.zero_grad()
        bag(torch.from_numpy(keys), torch.from_numpy(offsets)).backward(torch.from_numpy(gradient))
        optimizer.step()
    return bag.weight.detach().numpy()


def train_rowwise(mode: str) -> np.ndarray:
    """Row-wise Adagrad in float64."""
    rows = start_rows().astype(np.float64)
    accumulators = np.zeros(ROWS)
    for keys, offsets, gradient in batches():
        sums = np.zeros((ROWS, DIM))
        np.add.at(sums, keys, bag_gradients(keys, offsets, gradient, mode).astype(np.float64))
        touched = np.unique(keys)
        accumulators[touched] += (sums[touched] ** 2).mean(axis=1)
        rate = 0.1 / (np.sqrt(accumulators[touched]) + 1e-8)
        rows[touched] -= rate[:, None] * sums[touched]
    return rows


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("rule", OPTIMIZERS)
def test_twenty_steps_equal_the_reference_and_the_oracle(connected, name, rule, mode):
    optimizer = OPTIMIZERS[rule]
    trained = [train_remote(connected(shards), name, optimizer, mode) for shards in (1, 2, 3)]
    assert trained[0].tobytes() == trained[1].tobytes() == trained[2].tobytes()
    assert trained[0].tobytes() == train_oracle(optimizer, mode).tobytes()
    reference = train_rowwise(mode) if rule == "rowwise_adagrad" else train_torch(rule, mode)
    error = np.abs(trained[0] - reference).max(axis=1)
    largest = np.abs(reference).max(axis=1)
    assert (error <= 2e-6 * largest).all(), (error / largest).max()


def test_the_oracle_can_tell_a_wrong_sum():
    keys = np.zeros(600, int)
    gradients = oracle.values_of(np.arange(600), DIM, 1e4)
    right = oracle.sum_duplicates(keys, gradients)[0]
    assert not np.array_equal(right, np.add.reduce(gradients[::-1].copy()))
