"""Run real clients against the mock peers of examples/. Each client bootstraps, then produces and consumes one record.

Clients that are not installed are skipped (`pip install confluent-kafka kafka-python aiokafka`). Kafka's own client
needs Java and the jars of `kafka_jars`. Each client prints the produced record's offset, then offset, key and value of
the consumed record.
"""

from collections.abc import Iterator
from pathlib import Path
from runpy import run_path

import pytest
from kafka_clients import CLIENTS, PRINTED, printed, printed_by
from kafka_jars import kafka_jars

import tagwire_messages as kafka
from tagwire.testing.peer import MockPeer
from tagwire_workbench.mocking.script import read_script

EXAMPLES = Path(__file__).parents[4] / "examples"
JAVA = Path(__file__).with_name("ProduceAndConsume.java")


def of_example() -> MockPeer:
    peer = MockPeer()
    run_path(str(EXAMPLES / "kafka_peer.py"))["OneTopic"](peer)
    return peer


def of_script() -> MockPeer:
    return read_script(EXAMPLES / "kafka_peer.yaml").peer(kafka.registry)


@pytest.fixture(params=[of_example, of_script])
def peer(request: pytest.FixtureRequest) -> Iterator[MockPeer]:
    peer: MockPeer = request.param()
    with peer.running():
        yield peer
    peer.assert_no_problems()


def check(peer: MockPeer) -> None:
    peer.assert_order(kafka.ApiVersionsRequest, kafka.MetadataRequest, kafka.ProduceRequest, kafka.FetchRequest)


@pytest.mark.parametrize("client", CLIENTS)
def test_python_clients(client: str, peer: MockPeer) -> None:
    assert printed_by(client, peer.address) == PRINTED
    check(peer)


@pytest.mark.slow
def test_java_clients(peer: MockPeer, tmp_path: Path) -> None:
    command = ["java", "-Xmx256m", "-cp", f"{kafka_jars(tmp_path)}/*", str(JAVA), str(peer.address)]
    assert printed(command) == ["0", "0 k v"]
    check(peer)


@pytest.mark.parametrize("name", ["kafka_peer.py", "kafka_peer.yaml"])
def test_the_examples_are_short(name: str) -> None:
    assert len((EXAMPLES / name).read_text().splitlines()) < 60
