"""Quick start: trains a click model against two shard servers on this machine.

Starts the servers, trains a DLRM-style model whose embedding rows live on them, trains the same
model on local PyTorch embeddings from the same initial values, and shows both side by side.

    python quickstart.py                          a synthetic click log
    python quickstart.py --data ratings.csv       MovieLens, Criteo, or any table with a label
    python quickstart.py --memory 64MiB           the rows that do not fit lie on disk
"""

import argparse
import copy
import os
import sys
import time
from pathlib import Path

import torch

import hotrow
import hotrow.data
import hotrow.testing
import hotrow.torch
from dlrm import live_metrics, report
from dlrm.model import ClickModel, Shape
from dlrm.training import Batches, Progress, Trainer
from dlrm.twin import Vocabulary, local_embedding, local_optimizer

OPTIMIZERS = {
    "adagrad": lambda: hotrow.Adagrad(lr=0.05),
    "rowwise_adagrad": lambda: hotrow.RowwiseAdagrad(lr=0.05),
    "adam": lambda: hotrow.Adam(lr=0.001),
    "sgd": lambda: hotrow.Sgd(lr=0.5),
}
DENSE_LR = 0.001
# Both models take turns, and are tested, this many times an epoch.
PARTS = 4
# Thread counts of torch that both models may pick from.
THREAD_COUNTS = tuple(range(1, min(2, os.cpu_count() or 1) + 1))


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="CSV, TSV or Parquet file (default: synthetic)")
    parser.add_argument("--label", help="name of the label column")
    parser.add_argument("--rows", type=_positive, help="examples to use (default: 400000, or all)")
    parser.add_argument("--epochs", type=_positive, default=1)
    parser.add_argument("--batch", type=_positive, default=1024)
    parser.add_argument("--dim", type=_positive, default=32, help="floats per embedding row")
    parser.add_argument("--shards", type=_positive, default=2, help="server processes")
    parser.add_argument(
        "--memory",
        type=_size,
        metavar="SIZE",
        help="memory of all shards for rows, e.g. 64MiB; others lie on disk (default: no limit)",
    )
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="adagrad")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--server", type=Path, help="hotrow-server program (default: search)")
    parser.add_argument("--plot", type=Path, default=Path("quickstart.png"), help="where to draw")
    parser.add_argument("--no-plot", action="store_true")
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _size(text: str) -> int:
    units = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    number, unit = text[:-3], text[-3:]
    if unit not in units or not number.isdigit() or int(number) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 64MiB")
    return int(number) * units[unit]


def cluster_config(options: argparse.Namespace) -> dict[str, object]:
    """Return what the servers are told beside the defaults."""
    if options.memory is None:
        return {}
    share = max(2**20, options.memory // options.shards)  # no table fits less than 1 MiB
    return {"tiers": {"hot_budget": f"{share // 1024}KiB", "disk_budget": "64GiB"}}


def load_data(options: argparse.Namespace) -> tuple[hotrow.data.Dataset, hotrow.data.Dataset]:
    """Return (train, test)."""
    start = time.perf_counter()
    if options.data is None:
        log = hotrow.data.ClickLogOptions(seed=options.seed, rows=options.rows or 400_000)
        dataset = hotrow.data.synthetic_click_log(log)
    else:
        dataset = hotrow.data.load(options.data, options.rows, options.label)
    train, test = dataset.split()
    print(
        f"data: {dataset.name}: {len(train):,} training and {len(test):,} test examples,"
        f" {dataset.keys.shape[1]} features, {dataset.dense.shape[1]} dense columns"
        f" ({time.perf_counter() - start:.1f} s)"
    )
    for note in dataset.notes:
        print(f"  {note}")
    return train, test


def make_trainers(
    client: hotrow.Client, options: argparse.Namespace, shape: Shape, vocabulary: Vocabulary
) -> tuple[Trainer, Trainer]:
    """Return trainers of the model on Hotrow and of its local twin, which start alike."""
    optimizer = OPTIMIZERS[options.optimizer]()
    table = client.create_table(
        "quickstart",
        dim=options.dim,
        optimizer=optimizer,
        initializer=hotrow.Uniform(-0.05, 0.05),
        seed=options.seed,
        durability="memory",
    )
    torch.manual_seed(options.seed)
    remote = hotrow.torch.Embedding(None, options.dim, table="quickstart", client=client)
    model = ClickModel(remote, shape)
    local = local_embedding(table, vocabulary, options.dim)
    twin = ClickModel(local, shape)
    for part in ("bottom", "top"):
        setattr(twin, part, copy.deepcopy(getattr(model, part)))
    torch_optimizer, rule = local_optimizer(optimizer, local)
    print(f"optimizer: {options.optimizer} on the servers, {rule} in the local twin")
    sparse = hotrow.torch.SparseOptimizer(model)
    return (
        Trainer("Hotrow", model, sparse, DENSE_LR, THREAD_COUNTS),
        Trainer("local", twin, torch_optimizer, DENSE_LR, THREAD_COUNTS),
    )


def train_both(
    client: hotrow.Client,
    options: argparse.Namespace,
    train: hotrow.data.Dataset,
    test: hotrow.data.Dataset,
) -> tuple[Trainer, Trainer]:
    """Train both models, a part of an epoch of each in turn: a busy machine slows both alike."""
    vocabulary = Vocabulary.build(train.keys, test.keys)
    print(
        f"vocabulary: {len(vocabulary.keys):,} keys numbered in {vocabulary.seconds:.1f} s"
        " (only the local twin needs one; not counted in its samples/s)"
    )
    shape = Shape(train.keys.shape[1], train.dense.shape[1], options.dim)
    trainers = make_trainers(client, options, shape, vocabulary)
    inputs = ((train.keys, test.keys), (vocabulary.train, vocabulary.test))
    batches = [
        (
            Batches(train, train_input, options.batch, options.seed),
            Batches(test, test_input, 4 * options.batch, options.seed),
        )
        for train_input, test_input in inputs
    ]
    for epoch in range(options.epochs):
        shuffled = [train_batches.shuffled(epoch) for train_batches, _ in batches]
        count = -(-len(batches[0][0]) // PARTS)
        for part in range(1, PARTS + 1):
            line = f"epoch {epoch + part / PARTS:.2f}"
            for trainer, source, (_, test_batches) in zip(trainers, shuffled, batches, strict=True):
                trainer.train(source, count)
                trainer.test(test_batches)
                line += f"  {trainer.name}: {describe(trainer.progress)}"
            print(line, flush=True)
    return trainers


def describe(progress: Progress) -> str:
    """Return the latest figures of a run in a few words."""
    return f"test AUC {progress.aucs[-1]:.4f}, {progress.samples_per_second:,.0f} samples/s"


def main(arguments: list[str] | None = None) -> int:
    """Run the quick start."""
    options = parse_arguments(arguments)
    if options.server is not None:
        os.environ["HOTROW_SERVER"] = str(options.server.resolve())
    try:
        train, test = load_data(options)
    except (OSError, ValueError) as error:
        print(f"quickstart: {error}", file=sys.stderr)
        return 2
    best_auc = None
    if test.true_logits is not None:
        best_auc = hotrow.data.auc(test.labels, test.true_logits)

    config = cluster_config(options)
    with hotrow.testing.LocalCluster(shards=options.shards, config=config) as cluster:
        print(f"servers: {options.shards} shards at {', '.join(cluster.addresses)}")
        with cluster.connect() as client:
            remote, local = train_both(client, options, train, test)
            client.flush()
            tiers = report.tiers_of([table.stats() for table in client.tables()])
        print("results:")
        print(report.table_of(remote.progress, local.progress, best_auc))
        print(tiers)
        print("metrics (while the servers run):")
        print(live_metrics.summary(cluster.metrics_addresses))
    print("servers stopped")
    if not options.no_plot:
        runs = [("Hotrow", remote.progress), ("local PyTorch", local.progress)]
        report.draw(options.plot, runs, best_auc)
        print(f"plot: {options.plot}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
