"""What the recording proxy costs: `python bench/proxying.py`.

Each row is measured directly and through `tagwire record`, in turn, and the median of the
rounds is shown. Client, proxy and server are processes of their own on one machine. The processor
time of the proxy, with the process that writes its file, depends less on what else the machine does.

    produce      one ProduceRequest of 1 MB after the other: by a client library that makes, sends and awaits them
                 (`--client`), and by a bare socket that sends the same bytes again and again
    throughput   ProduceRequests of 1 MB without waiting for responses, by bare sockets

The client library produces to a mock peer, or with `--broker` to a real broker, which must take records of 1 MB
(`message.max.bytes`) and have the topic `orders`, or create it.
"""

import argparse
import importlib.util
import json
import os
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import tagwire_messages as kafka
from tagwire_messages.produce_request import PartitionProduceData, TopicProduceData
from tagwire_messages.produce_response import PartitionProduceResponse, TopicProduceResponse
from tagwire_workbench.mocking.script import read_script

BATCH: Final = 1 << 20
VERSION: Final = 9
PARTS: Final = 1 << 18

Address = tuple[str, int]


def _sized(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


def _produce_request(number: int) -> bytes:
    data = PartitionProduceData(index=0, records=os.urandom(BATCH))
    message = kafka.ProduceRequest(acks=1, topic_data=[TopicProduceData(name="orders", partition_data=[data])])
    return _sized(kafka.registry.encode_request(message, VERSION, correlation_id=number, client_id="bench"))


def _produce_answer() -> bytes:
    """The response without its first eight bytes, which are size and correlation id."""
    message = kafka.ProduceResponse(
        responses=[TopicProduceResponse(name="orders", partition_responses=[PartitionProduceResponse(base_offset=0)])]
    )
    return _sized(kafka.registry.encode_response(message, VERSION))[8:]


def _serve_mock() -> None:
    """A mock peer from which client libraries bootstrap; it decodes what it gets, and forgets it."""
    peer = read_script(Path(__file__).parents[1] / "examples" / "kafka_peer.yaml").peer(kafka.registry)
    peer.journal.on_received = lambda request: peer.journal.clear()
    with peer.running() as address:
        print(address.port, flush=True)
        signal.sigwait([signal.SIGTERM])


def _serve_bare() -> None:
    """A server that reads frames and answers each as a ProduceRequest; prints its port first."""
    answer = _produce_answer()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)
        while True:
            client, _ = listening.accept()
            with client, suppress(OSError):
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                _answer_all(client, answer)


def _answer_all(client: socket.socket, answer: bytes) -> None:
    buffer = memoryview(bytearray(BATCH + 4096))
    while _read_whole(client, buffer[:12]):
        size = int.from_bytes(buffer[:4], "big")
        if not _read_whole(client, buffer[12 : 4 + size]):
            return
        client.sendall((len(answer) + 4).to_bytes(4, "big") + bytes(buffer[8:12]) + answer)


def _read_whole(source: socket.socket, into: memoryview) -> bool:
    while len(into):
        number = source.recv_into(into, min(len(into), PARTS))
        if number == 0:
            return False
        into = into[number:]
    return True


@contextmanager
def _started(*command: str, stderr: int | None = None) -> Generator["subprocess.Popen[str]"]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()


@contextmanager
def _recording(server: Address, file: Path, used: list[float]) -> Generator[Address]:
    """A proxy; adds the seconds of processor time that it used."""
    before = _children()
    file.unlink(missing_ok=True)
    command = (sys.executable, "-m", "tagwire", "record", "--to", f"{server[0]}:{server[1]}", "--json", "-o", str(file))
    with _started(*command, stderr=subprocess.DEVNULL) as process:
        yield "127.0.0.1", json.loads(_line(process))["port"]
    used.append(_children() - before)
    file.unlink()


def _children() -> float:
    """Processor time of the processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


# ---------------------------------------------------------------- what is measured


def _bare_produce(address: Address, number: int) -> float:
    """Seconds for each request and its response, one after the other."""
    request = _produce_request(0)
    answer = bytearray(8 + len(_produce_answer()))
    with socket.create_connection(address) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        start = time.perf_counter()
        for _ in range(number):
            client.sendall(request)
            assert _read_whole(client, memoryview(answer))
        return (time.perf_counter() - start) / number


def _bare_throughput(address: Address, number: int) -> float:
    """Seconds for each request, without waiting for responses: these come in between."""
    import threading

    request = _produce_request(0)
    answers = bytearray((8 + len(_produce_answer())) * number)
    with socket.create_connection(address) as client:
        start = time.perf_counter()
        reading = threading.Thread(target=_read_whole, args=(client, memoryview(answers)))
        reading.start()
        for _ in range(number):
            client.sendall(request)
        reading.join()
        return (time.perf_counter() - start) / number


LIBRARIES: Final = {
    "confluent-kafka": """
from confluent_kafka import Producer
sizes = {"message.max.bytes": 2000000, "batch.size": 2000000}
producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "acks": 1, **sizes})
def check(error, message):
    if error:
        print(error, file=sys.stderr)
        os._exit(1)
def produce():
    producer.produce("orders", value=value, on_delivery=check)
    producer.flush(20)
""",
}
_TIMED: Final = """
import os, sys, time
bootstrap, number = sys.argv[1], int(sys.argv[2])
value = os.urandom(1 << 20)
{library}
for _ in range(5):
    produce()
start = time.perf_counter()
for _ in range(number):
    produce()
print((time.perf_counter() - start) / number, flush=True)
os._exit(0)
"""


def _by_library(name: str) -> Callable[[Address, int], float]:
    def measure(address: Address, number: int) -> float:
        program = _TIMED.format(library=LIBRARIES[name])
        command = [sys.executable, "-c", program, f"{address[0]}:{address[1]}", str(number)]
        return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=600).stdout)

    return measure


# ---------------------------------------------------------------- rows


@contextmanager
def _serving(server: Sequence[str] | Address) -> Generator[Address]:
    """The address of a server that runs, or of a command that prints its port."""
    if isinstance(server[1], int):
        yield str(server[0]), server[1]
        return
    with _started(*map(str, server)) as process:
        yield "127.0.0.1", int(_line(process))


def _compare(
    title: str,
    measure: Callable[[Address, int], float],
    server: Sequence[str] | Address,
    file: Path,
    number: int,
    rounds: int,
) -> None:
    """Print the median of both ways, measured in turn."""
    direct, proxied, used = [], [], []
    with _recording(("127.0.0.1", 9), file, used):
        pass
    idle = used.pop()
    with _serving(server) as address:
        for _ in range(rounds):
            direct.append(measure(address, number))
            with _recording(address, file, used) as through:
                proxied.append(measure(through, number))
    one, other = statistics.median(direct), statistics.median(proxied)
    busy = (statistics.median(used) - idle) / number
    figures = f"{one * 1e3:>10.2f} ms{other * 1e3:>10.2f} ms{other / one - 1:>+9.0%}{BATCH / other / 1e6:>8.0f} MB/s"
    print(f"{title:<34}{figures}{busy * 1e3:>10.2f} ms", flush=True)


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--number", type=int, default=200, help="requests of a round")
    parser.add_argument("--broker", metavar="HOST:PORT", help="a broker in the place of the mock peer")
    parser.add_argument("--folder", type=Path, help="where recordings are written; default: a temporary folder")
    parser.add_argument("--serve", choices=("bare", "mock"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        _serve_mock() if options.serve == "mock" else _serve_bare()
        return
    bare, mock = ((sys.executable, __file__, "--serve", name) for name in ("bare", "mock"))
    host, _, port = (options.broker or "").rpartition(":")
    peer = (host, int(port)) if port else mock
    with ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        print(f"{'1 MB ProduceRequests':<34}{'direct':>13}{'recorded':>13}{'adds':>9}{'recorded':>13}{'processor':>13}")
        for suffix in ("jsonl.gz", "jsonl"):
            file = folder / f"bench.{suffix}"
            if importlib.util.find_spec("confluent_kafka") is not None:
                title = f"produce, confluent-kafka, {suffix}"
                _compare(title, _by_library("confluent-kafka"), peer, file, options.number, options.rounds)
            _compare(f"produce, bare socket, {suffix}", _bare_produce, bare, file, options.number, options.rounds)
            _compare(f"throughput, {suffix}", _bare_throughput, bare, file, options.number, options.rounds)


if __name__ == "__main__":
    _main()
