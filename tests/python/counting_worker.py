"""A worker process of test_cases_processes.py: pushes the gradient 1 to key 42, a thousand times.

counting_worker.py ADDRESSES TABLE...
"""

import sys

import numpy as np

import hotrow

PUSHES = 1000


def push_often(table: hotrow.Table) -> None:
    """Push one row after the other, each acknowledged before the next."""
    for _ in range(PUSHES):
        table.push([42], np.ones((1, 1), np.float32))


if __name__ == "__main__":
    with hotrow.connect(sys.argv[1]) as client:
        for name in sys.argv[2:]:
            push_often(client.table(name))
