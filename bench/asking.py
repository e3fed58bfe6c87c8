"""Compare the speed of requests through tagwire and through other clients, on a loopback connection.

    .venv-bench/bin/python bench/asking.py [rounds]

Each client waits for a response before it sends the next request. The server runs in its own process and sends prepared
bytes. The clients run one after another in each round, and the reported times are medians over all rounds. Each client
gets a new process for each round, because times in a shared process depend on earlier clients.
"""

import asyncio
import multiprocessing
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any, Final

import tagwire
import tagwire_messages as messages
from tagwire_messages.api_versions_response import ApiVersion
from tagwire_messages.fetch_request import FetchPartition, FetchTopic
from tagwire_messages.fetch_response import FetchableTopicResponse, PartitionData
from tagwire_messages.metadata_response import MetadataResponseBroker

VERSIONS: Final = {1: (0, 4), 3: (0, 1), 12: (0, 1), 18: (0, 2)}
"""Maps each API key to the lowest and highest version that the server supports.

For Heartbeat and Fetch, the highest version is the last one that aiokafka supports.
"""
LARGE: Final = 1_000_000
"""The size in bytes of the records in a large response."""


def serve(listening: socket.socket) -> None:
    """Accept connections forever, and answer the requests of each connection in its own thread."""
    host, port = listening.getsockname()
    partition = PartitionData(partition_index=0, high_watermark=1, records=bytes(LARGE))
    answers = {
        1: messages.FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])]),
        3: messages.MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=0, host=host, port=port)], controller_id=0
        ),
        12: messages.HeartbeatResponse(),
        18: messages.ApiVersionsResponse(
            api_keys=[ApiVersion(api_key=key, min_version=a, max_version=b) for key, (a, b) in VERSIONS.items()]
        ),
    }
    prepared: dict[bytes, bytes] = {}

    def answer(client: socket.socket) -> None:
        with client, client.makefile("rb") as requests:
            while size := requests.read(4):
                request = requests.read(int.from_bytes(size, "big"))
                api = request[:4]
                if api not in prepared:
                    key, version = int.from_bytes(api[:2], "big"), int.from_bytes(api[2:], "big")
                    is_known = version <= VERSIONS[key][1]
                    response = answers[key] if is_known else answers[key].replace(error_code=35)
                    prepared[api] = messages.registry.encode_response(response, version if is_known else 0)[4:]
                body = prepared[api]
                client.sendall((len(body) + 4).to_bytes(4, "big") + request[4:8] + body)

    while True:
        threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()


def blocking(port: int) -> Iterator[Callable[[bool, int], None]]:
    """Yield a function that sends requests through tagwire's blocking client, `tagwire.connect`."""
    beat, fetch = requests_of_tagwire()
    with tagwire.connect(("127.0.0.1", port), messages.registry, "bench") as broker:

        def ask(is_large: bool, number: int) -> None:
            for _ in range(number):
                broker.ask(fetch if is_large else beat)

        yield ask


def in_a_loop(port: int) -> Iterator[Callable[[bool, int], None]]:
    """Yield a function that sends requests through tagwire's asyncio client, `tagwire.connect_async`."""
    beat, fetch = requests_of_tagwire()
    with asyncio.Runner() as runner:
        connecting = tagwire.connect_async(("127.0.0.1", port), messages.registry, "bench")
        broker = runner.run(connecting.__aenter__())
        yield lambda is_large, number: runner.run(repeated(lambda: broker.ask(fetch if is_large else beat), number))
        runner.run(connecting.__aexit__(None, None, None))


def requests_of_tagwire() -> tuple[Any, Any]:
    """Return a pair of requests: one with a small response (Heartbeat), one with a large response (Fetch)."""
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=LARGE)
    fetch = messages.FetchRequest(max_wait_ms=0, min_bytes=1, topics=[FetchTopic(topic="t", partitions=[partition])])
    return messages.HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), fetch


def aiokafka(port: int) -> Iterator[Callable[[bool, int], None]]:
    """Yield a function that sends requests through aiokafka's connection."""
    from aiokafka.conn import create_conn
    from aiokafka.protocol.fetch import FetchRequest
    from aiokafka.protocol.group import HeartbeatRequest

    with asyncio.Runner() as runner:
        connection = runner.run(create_conn("127.0.0.1", port, client_id="bench"))

        def one(is_large: bool) -> Awaitable[Any]:
            if is_large:
                return connection.send(FetchRequest(0, 1, LARGE, 0, [("t", [(0, 0, LARGE)])]))  # type: ignore[no-any-return]
            return connection.send(HeartbeatRequest("g", 1, "m"))  # type: ignore[no-any-return]

        yield lambda is_large, number: runner.run(repeated(lambda: one(is_large), number))
        connection.close()


def kafka_python(port: int) -> Iterator[Callable[[bool, int], None]]:
    """Yield a function that sends requests through kafka-python's client, as its consumers and producers do."""
    from kafka.net.compat import KafkaNetClient
    from kafka.protocol.consumer import FetchRequest, HeartbeatRequest

    topic = FetchRequest.FetchTopic
    partition = topic.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=LARGE)
    fetch = FetchRequest(
        replica_id=-1, max_wait_ms=0, min_bytes=1, max_bytes=LARGE, isolation_level=0,
        topics=[topic(topic="t", partitions=[partition])], max_version=4,
    )  # fmt: skip
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    client = KafkaNetClient(
        bootstrap_servers=f"127.0.0.1:{port}", client_id="bench", receive_message_max_bytes=2 * LARGE
    )
    node = client.least_loaded_node(bootstrap_fallback=True)
    client.await_ready(node)

    def ask(is_large: bool, number: int) -> None:
        for _ in range(number):
            client.send_and_receive(node, fetch if is_large else beat)

    yield ask
    client.close()


async def repeated(ask: Callable[[], Awaitable[Any]], number: int) -> None:
    """Send `number` requests one after another."""
    for _ in range(number):
        await ask()


def measure(name: str, port: int) -> list[tuple[float, float]]:
    """Return two (wall time, CPU time) pairs in seconds per request: one for small responses and one for large ones."""
    found = []
    with contextmanager(CLIENTS[name])(port) as ask:
        for is_large, number in ((False, 1000), (True, 100)):
            ask(is_large, 10)
            started = time.perf_counter(), time.process_time()
            ask(is_large, number)
            found.append(((time.perf_counter() - started[0]) / number, (time.process_time() - started[1]) / number))
    return found


def main(rounds: int) -> None:
    """Measure all clients, and print a line for each client and response size."""
    fork = multiprocessing.get_context("fork")
    runs: dict[str, list[list[tuple[float, float]]]] = {name: [] for name in CLIENTS}
    with socket.create_server(("127.0.0.1", 0)) as listening, fork.Pool(1, maxtasksperchild=1) as pool:
        server = fork.Process(target=serve, args=(listening,), daemon=True)
        server.start()
        for _ in range(rounds):
            for name, found in runs.items():
                found.append(pool.apply(measure, (name, listening.getsockname()[1])))
        server.terminate()
    for row, size in enumerate(("small", "1 MB")):
        for name, found in runs.items():
            wall, cpu = (median(each[row][which] for each in found) for which in (0, 1))
            print(f"{size:5}  {1 / wall:8,.0f} requests/s  {cpu * 1e6:8,.0f} us of CPU  {name}")


CLIENTS: Final = {
    "tagwire.connect": blocking,
    "tagwire.connect_async": in_a_loop,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
}

if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
