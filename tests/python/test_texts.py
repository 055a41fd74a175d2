"""Names and values that are no text: a typed error on the worker, whatever takes them."""

import pytest

import hotrow
from hotrow.torch import EmbeddingBag

HALF = "caf\udce9"  # what reading Latin-1 with errors="surrogateescape" makes of "café"

CALLS = {
    "create_table": lambda client, text: client.create_table(
        text, dim=2, optimizer=hotrow.Sgd(lr=1.0)
    ),
    "table": lambda client, text: client.table(text),
    "drop_table": lambda client, text: client.drop_table(text),
    "EmbeddingBag": lambda client, text: EmbeddingBag(4, 2, table=text, client=client),
    "hash_strings feature": lambda _, text: hotrow.hash_strings(text, ["de"]),
    "hash_strings value": lambda _, text: hotrow.hash_strings("country", ["de", text]),
    "mix_key": lambda _, text: hotrow.mix_key([1], table=text),
    "connect": lambda _, text: hotrow.connect(text, timeout=1),
    "connect job": lambda _, text: hotrow.connect("127.0.0.1:1", timeout=1, job=text),
    "connect address_map": lambda _, text: hotrow.connect(
        "127.0.0.1:1", timeout=1, address_map={"127.0.0.1:1": text}
    ),
}


TEXTS = {"half": HALF, "int": 5, "None": None, "bytes": b"user"}
CASES = [
    (call, text)
    for call in CALLS
    for text in TEXTS
    # Values may be bytes, and no map is a map of nothing.
    if (call, text) not in {("hash_strings value", "bytes"), ("connect address_map", "None")}
]


@pytest.mark.parametrize(("call", "text"), CASES)
def test_what_is_no_text_is_refused_with_advice(client, call, text):
    with pytest.raises(hotrow.InvalidArgument) as caught:
        CALLS[call](client, TEXTS[text])
    assert caught.value.hint
