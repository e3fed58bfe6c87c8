import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tagwire.addresses import Address
from tagwire_workbench.proxy import RecordingProxy

CAPTURE = Path(__file__).parents[2] / "data" / "captures" / "advertised.jsonl.gz"
ROWS = [json.loads(line) for line in gzip.decompress(CAPTURE.read_bytes()).splitlines()]
PORTS = (39091, 39092, 39093)


def frame(row: Any) -> bytes:
    data = bytes.fromhex(row["hex"])
    return len(data).to_bytes(4, "big") + data


def address(host: bytes, port: int) -> bytes:
    return host + port.to_bytes(4, "big")


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        pytest.param(sent, answer, id=f"{sent['api_key']} v{sent['api_version']}")
        for sent, answer in zip(ROWS[::2], ROWS[1::2], strict=True)
    ],
)
def test_addresses_of_real_brokers(sent: Any, answer: Any) -> None:
    proxy = RecordingProxy(Address("127.0.0.1", PORTS[0]), lambda frame: None)
    connection = proxy.connect(moved=lambda host, port: ("127.0.0.9", port - 10_000))
    assert b"".join(connection.receive_from_client(frame(sent))) == frame(sent)
    expected = frame(answer)
    for port in PORTS:
        expected = expected.replace(address(b"127.0.0.1", port), address(b"127.0.0.9", port - 10_000))
    assert b"".join(connection.receive_from_server(frame(answer))) == expected != frame(answer)
    assert b"127.0.0.1" not in expected and proxy.problems == []
