"""Writes proto/wire/test_vectors.json: values that every implementation must give.

Written from the specification only, in Python and with the `xxhash` package, so that it does not
repeat a mistake of the C++ code. Initial values come from tools of their own:

    python make_test_vectors.py [--initial-values FILE.json]

Without the option the initial values that are in the file already are kept. 64-bit numbers are
written as hexadecimal strings, because many JSON readers hold numbers as doubles.
"""

import argparse
import json
import struct
from pathlib import Path

import xxhash

TARGET = Path(__file__).resolve().parents[2] / "proto" / "wire" / "test_vectors.json"
MASK = (1 << 64) - 1
KEYS = [0, 1, 2, 3, 42, 255, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 53) + 1, (1 << 63) - 1]
KEYS += [1 << 63, MASK - 1, MASK]  # INT64_MIN, -2 and -1 as signed numbers
TABLES = ["items", "users", "model/users:id", "a", "emb_0.weight", "x" * 128]
PARTITION_BITS = [0, 1, 6, 10]


def hexadecimal(value: int) -> str:
    """Return `value` as a 64-bit hexadecimal string."""
    return f"0x{value:016x}"


def mix_key(x: int) -> int:
    """Return MurmurHash3's fmix64 of `x`."""
    x ^= x >> 33
    x = x * 0xFF51AFD7ED558CCD & MASK
    x ^= x >> 33
    x = x * 0xC4CEB9FE1A85EC53 & MASK
    return x ^ (x >> 33)


def xxh64(data: bytes, seed: int = 0) -> int:
    """XXH64 of `data`."""
    return xxhash.xxh64_intdigest(data, seed)


def hash_string(feature: bytes, value: bytes) -> int:
    """Key of a string value of a feature."""
    return xxh64(struct.pack("<I", len(feature)) + feature + value)


def session_id(client_uid: bytes, restart_count: int) -> int:
    """Session of one life of a client."""
    return xxh64(client_uid, restart_count) or 1


def content_hash(operation: int, tables: list[dict], payload: bytes) -> int:
    """XXH3-64 over the head of a sub-push and its part of the payload."""
    data = struct.pack("<BI", operation, len(tables))
    for table in tables:
        data += struct.pack(
            "<IIIQI",
            table["table_id"],
            table["key_count"],
            table["dim"],
            int(table["step"], 16),
            int(table["learning_rate_bits"], 16),
        )
    return xxhash.xxh3_64_intdigest(data + payload)


def mixed_bytes(size: int, seed: int) -> bytes:
    """Payload bytes: each a hash of its position."""
    return bytes(mix_key((mix_key(seed) + i) & MASK) >> 56 for i in range(size))


def hash_keys() -> list[dict]:
    """Hash word, digest and partitions of keys of tables."""
    vectors = []
    for table in TABLES:
        salt = xxh64(table.encode())
        for key in KEYS:
            word = mix_key(key ^ salt)
            vectors.append(
                {
                    "table": table,
                    "key": hexadecimal(key),
                    "hash": hexadecimal(word),
                    "digest": word >> 46 & 0xFF,
                    "partitions": {str(bits): word >> (64 - bits) for bits in PARTITION_BITS},
                }
            )
    return vectors


def hash_strings() -> list[dict]:
    """Keys of strings: separators, lengths, two values that a 32-bit hash confused."""
    pairs = [
        ("", ""),
        ("ab", "c"),
        ("a", "bc"),
        ("", "abc"),
        ("abc", ""),
        ("id", "54327_154596532770814A573"),
        ("id", "28155_1527495221357429108"),
        ("id", "d41d8cd98f00b204e9800998ecf8427e"),
        ("id", "ffffffffffffffffffffffffffffffff"),
        ("workclass", "Self-emp-not-inc"),
        ("workclass", " State-gov"),
        ("größe", "日本語"),
        ("f", "v" * 1000),
    ]
    return [
        {
            "feature": feature,
            "value": value,
            "key": hexadecimal(hash_string(feature.encode(), value.encode())),
        }
        for feature, value in pairs
    ]


def sessions() -> list[dict]:
    """Session ids."""
    uids = [bytes(16), bytes(range(16)), b"\xff" * 16]
    return [
        {
            "client_uid_hex": uid.hex(),
            "restart_count": hexadecimal(count),
            "session": hexadecimal(session_id(uid, count)),
        }
        for uid in uids
        for count in [0, 1, 2, MASK]
    ]


def content_hashes() -> list[dict]:
    """Content hashes; the payload is mixed_bytes(payload_bytes, payload_seed)."""

    def table(table_id: int, key_count: int, dim: int, step: int, rate: float) -> dict:
        bits = struct.unpack("<I", struct.pack("<f", rate))[0]
        return {
            "table_id": table_id,
            "key_count": key_count,
            "dim": dim,
            "step": hexadecimal(step),
            "learning_rate_bits": f"0x{bits:08x}",
        }

    cases = [
        (4, []),
        (1, [table(1, 1, 1, 1, 0.01)]),
        (2, [table(1, 1, 1, 1, 0.01)]),
        (1, [table(7, 33, 16, 1 << 40, 0.001), table(8, 31, 1, MASK, 0.0)]),
        (3, [table(0xFFFFFFFF, 5, 0, 3, -0.0)]),
        (1, [table(3, 1000, 64, 12, 1.0)]),
    ]
    vectors = []
    for seed, (operation, tables) in enumerate(cases):
        size = sum(t["key_count"] * (8 + 4 * t["dim"]) for t in tables)
        vectors.append(
            {
                "operation": operation,
                "tables": tables,
                "payload_bytes": size,
                "payload_seed": seed,
                "hash": hexadecimal(content_hash(operation, tables, mixed_bytes(size, seed))),
            }
        )
    return vectors


def static_owners() -> list[dict]:
    """Owner of every partition of some static maps."""
    counts = [(1, 1), (2, 1), (2, 2), (8, 3), (64, 1), (64, 2), (64, 3), (64, 5), (64, 64)]
    counts += [(1024, 7)]
    return [
        {"partitions": p, "shards": s, "owners": [i * s // p for i in range(p)]} for p, s in counts
    ]


def payload_hashes() -> list[dict]:
    """XXH3-64 of mixed_bytes(size, size), over the boundaries of the algorithm's cases."""
    sizes = [0, 1, 3, 4, 8, 9, 16, 17, 128, 129, 240, 241, 1024, 1025, 65537]
    return [
        {"size": n, "hash": hexadecimal(xxhash.xxh3_64_intdigest(mixed_bytes(n, n)))} for n in sizes
    ]


def initial_values(path: Path | None) -> list[dict]:
    """Return initial values as given by the initializers' own independent tool."""
    if path is None:
        return json.loads(TARGET.read_text())["initial_values"] if TARGET.exists() else []
    return [
        {
            "initializer": vector["initializer"],
            "a": vector["a"],
            "b": vector["b"],
            "table": vector["table"],
            "seed": hexadecimal(vector["seed"]),
            "key": hexadecimal(vector["key"]),
            "column": vector["column"],
            "value_bits": f"0x{vector['value_bits_hex']}",
        }
        for vector in json.loads(path.read_text())
    ]


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--initial-values", type=Path)
    arguments = parser.parse_args()
    vectors = {
        "mix_key": [{"x": hexadecimal(x), "mixed": hexadecimal(mix_key(x))} for x in KEYS],
        "table_salt": [{"table": t, "salt": hexadecimal(xxh64(t.encode()))} for t in TABLES],
        "hash_key": hash_keys(),
        "hash_string": hash_strings(),
        "session_id": sessions(),
        "content_hash": content_hashes(),
        "payload_hash": payload_hashes(),
        "static_owners": static_owners(),
        "initial_values": initial_values(arguments.initial_values),
    }
    sections = []
    for name, section in vectors.items():
        lines = ",\n".join("    " + json.dumps(v, ensure_ascii=False) for v in section)
        sections.append(f'  "{name}": [\n{lines}\n  ]')
    TARGET.write_text("{\n" + ",\n".join(sections) + "\n}\n")


if __name__ == "__main__":
    main()
