"""Run programs that use real Kafka clients. Each program bootstraps, then produces and consumes one record.

The programs read the variable `bootstrap`. They print the produced record's offset, then offset, key and value of the
consumed record.
"""

import importlib.util
import subprocess
import sys
from typing import Final

import pytest

SECONDS: Final = 60
PRINTED: Final = ["0", "0 b'k' b'v'"]

CLIENTS: Final = {
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
"""Maps the name of a client's Python module to the program that uses this client."""


def printed_by(client: str, bootstrap: object) -> list[str]:
    """Run a client's program and return the lines it prints. Skip the test if the client is not installed."""
    if importlib.util.find_spec(client) is None:
        pytest.skip(f"there is no module {client}: pip install confluent-kafka kafka-python aiokafka")
    program = f"import sys\nbootstrap = sys.argv[1]\n{CLIENTS[client]}"
    return printed([sys.executable, "-c", program, str(bootstrap)])


def printed(command: list[str]) -> list[str]:
    """Run a command and return the lines that it prints. Fail unless it exits with status 0."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()
