"""Real clients against the mock peers of examples/: each bootstraps, produces one record, and consumes it.

The Python clients are tested where they are installed (`pip install confluent-kafka kafka-python aiokafka`), Kafka's
own where Java and Maven bring them (`kafka_jars`). Each runs in a process of its own that is ended after a while, and
prints the offset of what it produced, then offset, key and value of what it consumed.
"""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka_jars import kafka_jars

import tagwire_messages as kafka
from tagwire.testing.peer import MockPeer
from tagwire_cli.mocking.script import read_script

SECONDS = 60
EXAMPLES = Path(__file__).parents[4] / "examples"
JAVA = Path(__file__).with_name("ProduceAndConsume.java")

CLIENTS = {
    "confluent_kafka": """
from confluent_kafka import Consumer, Producer, TopicPartition

producer = Producer({"bootstrap.servers": bootstrap, "message.timeout.ms": 20000})
producer.produce("orders", key=b"k", value=b"v", on_delivery=lambda error, message: print(error or message.offset()))
producer.flush(20)
consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "enable.auto.commit": False})
consumer.assign([TopicPartition("orders", 0, 0)])
message = consumer.poll(20)
print(message.error() or message.offset(), message.key(), message.value())
consumer.close()
""",
    "kafka": """
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

producer = KafkaProducer(bootstrap_servers=bootstrap)
print(producer.send("orders", key=b"k", value=b"v").get(20).offset)
producer.close(5)
consumer = KafkaConsumer(
    bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id=None, consumer_timeout_ms=20000
)
consumer.assign([TopicPartition("orders", 0)])
record = next(consumer)
print(record.offset, record.key, record.value)
consumer.close()
""",
    "aiokafka": """
import asyncio
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

async def main():
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        print((await producer.send_and_wait("orders", key=b"k", value=b"v")).offset)
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id=None)
    consumer.assign([TopicPartition("orders", 0)])
    async with consumer:
        record = await asyncio.wait_for(consumer.getone(), 20)
        print(record.offset, record.key, record.value)

asyncio.run(main())
""",
}
"""By the module that must be there: programs that know `bootstrap`."""


def of_example() -> MockPeer:
    spec = importlib.util.spec_from_file_location("kafka_peer", EXAMPLES / "kafka_peer.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    peer = MockPeer()
    module.OneTopic(peer)
    return peer


def of_script() -> MockPeer:
    return read_script(EXAMPLES / "kafka_peer.yaml").peer(kafka.registry)


@pytest.fixture(params=[of_example, of_script])
def peer(request: pytest.FixtureRequest) -> Iterator[MockPeer]:
    peer: MockPeer = request.param()
    with peer.running():
        yield peer
    peer.assert_no_problems()


def check(peer: MockPeer, command: list[str], expected: list[str]) -> None:
    """Run a client, whose last argument is the peer's address; compare what it prints, and what the peer has seen."""
    command = [*command, str(peer.address)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == expected
    peer.assert_order(kafka.ApiVersionsRequest, kafka.MetadataRequest, kafka.ProduceRequest, kafka.FetchRequest)


@pytest.mark.parametrize("client", CLIENTS)
def test_python_clients(client: str, peer: MockPeer) -> None:
    if importlib.util.find_spec(client) is None:
        pytest.skip(f"there is no module {client}: pip install confluent-kafka kafka-python aiokafka")
    program = f"import sys\nbootstrap = sys.argv[1]\n{CLIENTS[client]}"
    check(peer, [sys.executable, "-c", program], ["0", "0 b'k' b'v'"])


@pytest.mark.slow
def test_java_clients(peer: MockPeer, tmp_path: Path) -> None:
    check(peer, ["java", "-Xmx256m", "-cp", f"{kafka_jars(tmp_path)}/*", str(JAVA)], ["0", "0 k v"])


@pytest.mark.parametrize("name", ["kafka_peer.py", "kafka_peer.yaml"])
def test_the_examples_are_short(name: str) -> None:
    assert len((EXAMPLES / name).read_text().splitlines()) < 60
