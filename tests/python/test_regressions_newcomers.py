"""What newcomers tripped over stays mended."""

from __future__ import annotations

import numpy as np
import pytest

import hotrow
from hotrow.torch import EmbeddingBag, SparseOptimizer
from hotrow.torch.pending import WARN_PASSES, PendingGradients


def _add_passes(pending: PendingGradients, passes: int) -> None:
    for key in range(passes):
        pending.add(np.array([key], np.uint64), np.ones((1, 2), np.float32))


def test_a_forgotten_step_is_warned_of_once_with_the_table() -> None:
    pending = PendingGradients("item")
    _add_passes(pending, WARN_PASSES - 1)
    with pytest.warns(RuntimeWarning, match="table 'item'.*SparseOptimizer") as caught:
        _add_passes(pending, WARN_PASSES)
    assert len(caught) == 1


def test_steps_in_time_are_not_warned_of(recwarn: pytest.WarningsRecorder) -> None:
    pending = PendingGradients("item")
    for _ in range(3):
        _add_passes(pending, WARN_PASSES - 1)
        pending.clear()
    assert not [warning for warning in recwarn if warning.category is RuntimeWarning]


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.1:0", "unix:"])
def test_an_address_without_a_port_is_refused_at_once(address: str) -> None:
    with pytest.raises(hotrow.InvalidArgument, match="HOST:PORT"):
        hotrow.connect(address)


@pytest.mark.parametrize("rate", [-1.0, float("nan"), float("inf")])
def test_a_bad_rate_is_refused_by_the_constructor(client: hotrow.Client, rate: float) -> None:
    bag = EmbeddingBag(None, 2, table=f"bad_rate_{rate}", client=client)
    with pytest.raises(hotrow.InvalidArgument, match="lr must be finite"):
        SparseOptimizer(bag, lr=rate)
