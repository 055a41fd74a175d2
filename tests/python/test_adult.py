"""One worker and two shards meet the yardstick of plain PyTorch on real data."""

import adult
import numpy as np
import pytest
import torch

import hotrow
from hotrow.torch import Embedding, EmbeddingBag, SparseOptimizer

# Test AUC of plain PyTorch with sparse gradients after epochs 1-3, mean of seeds 1-3.
YARDSTICK = {
    "lr_adagrad": ([0.9066, 0.9092, 0.9102], 0.001),
    "lr_sgd": ([0.8882, 0.8972, 0.9014], 0.001),
    "fm_adagrad": ([0.9109, 0.9122, 0.9125], 0.003),
}
SEEDS = (1, 2, 3)


@pytest.fixture(scope="module")
def data(adult_csv) -> tuple[adult.Part, adult.Part]:
    return adult.load(adult_csv)


def test_the_fields_are_those_of_the_yardstick(data):
    training, test = data
    assert len(training.labels) + len(test.labels) == 32_561
    assert int(training.labels.sum() + test.labels.sum()) == 7_841
    assert training.keys.shape[1] == 12
    assert torch.cat([training.keys, test.keys]).unique().numel() == 145


def build(client: hotrow.Client, name: str, kind: str, seed: int):
    """Make model and optimizers of one kind."""
    rule = hotrow.Sgd(lr=0.5) if kind == "lr_sgd" else hotrow.Adagrad(lr=0.1)
    shared = {"client": client, "optimizer": rule}
    weights = EmbeddingBag(
        None, 1, mode="sum", table=f"{name}.w", initializer=hotrow.Zeros(), **shared
    )
    model = adult.LogisticRegression(weights)
    if kind.startswith("fm"):
        factors = Embedding(
            None, 8, table=f"{name}.v", initializer=hotrow.Normal(0, 0.05), seed=seed, **shared
        )
        model = adult.FactorizationMachine(weights, factors)
    dense = [model.bias]
    bias = torch.optim.SGD(dense, 0.5) if kind == "lr_sgd" else torch.optim.Adagrad(dense, 0.1)
    return model, [SparseOptimizer(model), bias]


@pytest.mark.parametrize("kind", YARDSTICK)
def test_training_meets_the_yardstick(client, name, data, kind):
    runs = [adult.train(*build(client, f"{name}.{seed}", kind, seed), data, seed) for seed in SEEDS]
    expected, tolerance = YARDSTICK[kind]
    found = np.mean(runs, axis=0)
    print(f"{kind}: test AUC {found.round(4)}, yardstick {expected}")
    assert found == pytest.approx(expected, abs=tolerance)


def test_evaluation_between_epochs_stores_no_row(client, name, data):
    model, _ = build(client, name, "lr_adagrad", 1)
    with torch.no_grad():
        model(data[1].keys)
    assert model.weights.table.size() == 0
