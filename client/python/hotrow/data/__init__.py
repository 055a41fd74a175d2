"""Click data for examples and tests: a synthetic log, and readers of public formats.

>>> dataset = hotrow.data.load("ratings.csv", rows=1_000_000)
>>> train, test = dataset.split()
>>> train.keys.shape, train.dense.shape, train.labels.shape

Every categorical value becomes a 64-bit key, ``hotrow.hash_strings(feature, value)``: no vocabulary
is built. Reading needs pyarrow; everything else needs numpy only.
"""

from hotrow.data.click_log import ClickLogOptions, synthetic_click_log
from hotrow.data.dataset import Dataset, Scaler
from hotrow.data.metrics import auc, logloss
from hotrow.data.readers import load, read_criteo, read_movielens, read_table

__all__ = [
    "ClickLogOptions",
    "Dataset",
    "Scaler",
    "auc",
    "load",
    "logloss",
    "read_criteo",
    "read_movielens",
    "read_table",
    "synthetic_click_log",
]
