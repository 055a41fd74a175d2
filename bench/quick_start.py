"""P16: training speed of the quick start beside the same model on local torch embeddings.

Runs client/python/examples/quickstart.py (two shards and the worker share the machine) and reads
the samples/s that it prints.
"""

from __future__ import annotations

import datetime
import re
import subprocess
import sys

from bench import harness, measures
from bench.measures import Bar, Figure, Measure

BAR = Bar("peer", at_least=0.8)
SCRIPT = harness.ROOT / "client" / "python" / "examples" / "quickstart.py"
_LINE = re.compile(r"^ *samples/s +([\d,.]+) +([\d,.]+) *$", re.MULTILINE)


def measures_of(printed: str) -> list[Measure]:
    """The training speed that the quick start printed; ValueError when it printed none."""
    found = _LINE.search(printed)
    if found is None:
        raise ValueError(f"the quick start printed no samples/s:\n{printed[-2000:]}")
    own, local = (float(text.replace(",", "")) for text in found.groups())
    peer = Figure("local nn.Embedding, torch Adagrad", local)
    return [Measure("P16", "quick start, 2 shards", "samples/s", own, peer, bar=BAR)]


def main() -> None:
    """Run and print."""
    command = [sys.executable, str(SCRIPT), "--no-plot", *sys.argv[1:]]
    done = subprocess.run(command, check=True, timeout=600, stdout=subprocess.PIPE, text=True)
    print(f"\n{datetime.date.today()}, {harness.machine()}\n")
    print(done.stdout)
    measures.save("quick_start", measures_of(done.stdout))


if __name__ == "__main__":
    main()
