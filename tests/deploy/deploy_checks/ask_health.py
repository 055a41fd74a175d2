"""Ask a gRPC server for the health of services: ``ask_health.py HOST:PORT SERVICE...``.

Prints a JSON object of service and status. Messages are encoded here: they have one field each.
"""

import json
import sys

import grpc

_TIMEOUT_S = 10
_NAMES = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING"}


def _request(service: str) -> bytes:
    name = service.encode()
    assert len(name) < 128, "the length is one byte"
    return b"\x0a" + bytes([len(name)]) + name if name else b""


def _status(response: bytes) -> str:
    return _NAMES[response[1]] if response[:1] == b"\x08" else _NAMES[0]


def ask(address: str, services: list[str]) -> dict[str, str]:
    """Return the status of each service."""
    answers = {}
    with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        for service in services:
            try:
                answers[service] = _status(check(_request(service), timeout=_TIMEOUT_S))
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.NOT_FOUND:
                    raise
                answers[service] = "UNKNOWN SERVICE"
    return answers


if __name__ == "__main__":
    print(json.dumps(ask(sys.argv[1], sys.argv[2:])))
