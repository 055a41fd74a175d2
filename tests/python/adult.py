"""The Adult data as a click model: fields, keys and the two models of the yardstick."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import hotrow
from hotrow.data import auc

# Columns of the file, in order; words are taken as they are, numbers are cut into ranges.
COLUMNS = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country", "label",
]  # fmt: skip
RANGES = {
    "age": lambda text: str(int(text) // 5),
    "hours-per-week": lambda text: str(int(text) // 5),
    "capital-gain": lambda text: str(len(text) if int(text) else 0),
    "capital-loss": lambda text: str(len(text) if int(text) else 0),
}
LEFT_OUT = {"fnlwgt", "education-num", "label"}


@dataclass
class Part:
    """Rows of the data: int64 keys (n, fields) and float32 labels (n)."""

    keys: torch.Tensor
    labels: torch.Tensor


def load(path: Path) -> tuple[Part, Part]:
    """Read training and test rows; test rows are those whose number is a multiple of 5."""
    with path.open() as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if row]
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    keys = []
    for field, values in columns.items():
        if field not in LEFT_OUT:
            cut = RANGES.get(field, str)
            keys.append(hotrow.hash_strings(field, [cut(value) for value in values]))
    table = torch.from_numpy(np.stack(keys, axis=1))
    labels = torch.tensor([label == ">50K" for label in columns["label"]], dtype=torch.float32)
    test = torch.arange(len(labels)) % 5 == 0
    return Part(table[~test], labels[~test]), Part(table[test], labels[test])


class LogisticRegression(torch.nn.Module):
    """A sum bag of dim 1 and a bias."""

    def __init__(self, weights: torch.nn.Module) -> None:
        super().__init__()
        self.weights = weights
        self.bias = torch.nn.Parameter(torch.zeros(1))

    def forward(self, keys: torch.Tensor) -> torch.Tensor:
        return self.weights(keys)[:, 0] + self.bias


class FactorizationMachine(LogisticRegression):
    """Logistic regression plus the dot products of all pairs of factors (Rendle 2010)."""

    def __init__(self, weights: torch.nn.Module, factors: torch.nn.Module) -> None:
        super().__init__(weights)
        self.factors = factors

    def forward(self, keys: torch.Tensor) -> torch.Tensor:
        rows = self.factors(keys)
        pairs = rows.sum(1).square() - rows.square().sum(1)
        return super().forward(keys) + 0.5 * pairs.sum(1)


def train(model, optimizers, data: tuple[Part, Part], seed: int, epochs: int = 3) -> list[float]:
    """Train and return the test AUC after each epoch."""
    training, test = data
    generator = torch.Generator().manual_seed(seed)
    loss_of = torch.nn.BCEWithLogitsLoss()
    aucs = []
    for _ in range(epochs):
        for rows in torch.randperm(len(training.labels), generator=generator).split(256):
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss_of(model(training.keys[rows]), training.labels[rows]).backward()
            for optimizer in optimizers:
                optimizer.step()
        with torch.no_grad():
            aucs.append(auc(test.labels.numpy(), model(test.keys).numpy()))
    return aucs
