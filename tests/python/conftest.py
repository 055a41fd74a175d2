"""Real servers for the tests: clusters of one, two and three shards, started once a session."""

import itertools
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import hotrow
from hotrow.testing import LocalCluster

_numbers = itertools.count()


@pytest.fixture(scope="session")
def clusters() -> Iterator[Callable[[int], LocalCluster]]:
    """Give the session's cluster of n shards."""
    running: dict[int, LocalCluster] = {}

    def of(shards: int) -> LocalCluster:
        if shards not in running:
            running[shards] = LocalCluster(shards)
        return running[shards]

    yield of
    for cluster in running.values():
        cluster.close()


@pytest.fixture(scope="session")
def connected(clusters) -> Callable[[int], hotrow.Client]:
    """Give the session's client to the cluster of n shards."""
    clients: dict[int, hotrow.Client] = {}

    def to(shards: int) -> hotrow.Client:
        if shards not in clients:
            clients[shards] = clusters(shards).connect()
        return clients[shards]

    return to


@pytest.fixture
def client(connected) -> hotrow.Client:
    """Two shards: the smallest cluster in which routing matters."""
    return connected(2)


@pytest.fixture
def name(request) -> str:
    """Make a table name that no other test uses."""
    return f"{request.node.originalname[:80]}.{next(_numbers)}"


@pytest.fixture
def make_table(client, name) -> Callable[..., hotrow.Table]:
    """Create tables; SGD with rate 1 from zeros unless told otherwise."""
    created = itertools.count()

    def make(dim: int = 2, **options) -> hotrow.Table:
        options.setdefault("optimizer", hotrow.Sgd(lr=1.0))
        options.setdefault("initializer", hotrow.Zeros())
        options.setdefault("durability", "memory")
        return client.create_table(f"{name}.{next(created)}", dim, **options)

    return make


@pytest.fixture
def rng(request) -> np.random.Generator:
    """Give a generator whose seed is printed when the test fails."""
    seed = int(os.environ.get("HOTROW_TEST_SEED", "20240607"))
    print(f"HOTROW_TEST_SEED={seed}")
    return np.random.default_rng(seed)


@pytest.fixture(scope="session")
def adult_csv() -> Path:
    """Find the Adult data, or skip."""
    places = [Path(__file__).resolve().parents[3] / "shared" / "data" / "adult.data.csv"]
    named = os.environ.get("HOTROW_DATA")
    if named:
        places = [Path(named), Path(named) / "adult.data.csv", *places]
    for place in places:
        if place.is_file():
            return place
    pytest.skip("no adult.data.csv beside the checkout or at HOTROW_DATA")


@pytest.fixture(autouse=True)
def _no_durability_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hotrow.DurabilityWarning)
        yield
