import asyncio
import errno
import math
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

import tagwire
import tagwire_messages as messages
from tagwire.addresses import AddressError
from tagwire.blocking_connection import InvalidTimeoutError, reason_of
from tagwire.connection import Connection, ServerConnection
from tagwire.testing.peer import Address, MockPeer, Reply, Send

TLS = Path(__file__).parents[1] / "data" / "tls"
METADATA = messages.MetadataRequest(topics=None)
BEAT = messages.HeartbeatRequest(group_id="g", member_id="m")
VERSIONS = {messages.ApiKey.SASL_AUTHENTICATE: tagwire.Versions(0, 2), messages.ApiKey.PRODUCE: tagwire.Versions(9, 9)}
BIG = bytes(12_000_000)
"""Too many bytes for the buffers of two sockets."""


@pytest.fixture
def peer() -> Generator[MockPeer]:
    peer = MockPeer()
    peer.on(messages.MetadataRequest).reply(messages.MetadataResponse(cluster_id="c"))
    with peer.running():
        yield peer


def blocking(address: Address, *calls: Callable[[Any], Any], **options: Any) -> list[Any]:
    with tagwire.connect(address, messages.registry, **options) as broker:
        return [call(broker) for call in calls]


def in_a_loop(address: Address, *calls: Callable[[Any], Any], **options: Any) -> list[Any]:
    async def run() -> list[Any]:
        async with tagwire.connect_async(address, messages.registry, **options) as broker:
            return [await call(broker) for call in calls]

    return asyncio.run(asyncio.wait_for(run(), 60))  # so that a call that never returns fails the test


both = pytest.mark.parametrize("driver", [blocking, in_a_loop])


@contextmanager
def served(serve: Callable[[socket.socket], None]) -> Generator[Address]:
    """Listen on loopback, call `serve` with the listening socket in a thread, and yield the address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server,))
        thread.start()
        yield Address("localhost", server.getsockname()[1])
        thread.join()


@both
def test_answers(driver: Any, peer: MockPeer) -> None:
    peer.on(messages.ProduceRequest).reply(None)
    one, silent, many = driver(
        peer.address,
        lambda broker: broker.ask(METADATA),
        lambda broker: broker.ask(messages.ProduceRequest(acks=0)),
        lambda broker: broker.ask_all([METADATA] * 300),
        client_id="me",
    )
    assert (one.cluster_id, silent, len(many)) == ("c", None, 300)
    assert {each.header.client_id for each in peer.journal.requests} == {"me"}


def test_threads_share_a_connection(peer: MockPeer) -> None:
    peer.on(messages.HeartbeatRequest).reply(
        lambda beat: messages.HeartbeatResponse(error_code=int(beat.message.group_id))
    )
    with tagwire.connect(str(peer.address), messages.registry) as broker, ThreadPoolExecutor(8) as threads:
        beats = [messages.HeartbeatRequest(group_id=str(number)) for number in range(400)]
        assert [each.error_code for each in threads.map(broker.ask, beats)] == [*range(400)]


@both
def test_errors_are_checked_and_retriable_ones_sent_again(driver: Any, peer: MockPeer) -> None:
    codes = [15, 14, 0, 15, 999, 15]
    peer.on(messages.HeartbeatRequest).reply([messages.HeartbeatResponse(error_code=code) for code in codes])

    def ask(broker: Any, **options: Any) -> Any:
        return broker.ask(BEAT, **options)

    assert driver(peer.address, lambda broker: ask(broker, check=True, retry=60))[0].error_code == 0
    assert [driver(peer.address, ask)[0].error_code for _ in range(2)] == [15, 999]
    with pytest.raises(tagwire.AnswerError, match=r"error_code: COORDINATOR_NOT_AVAILABLE \(15\)") as raised:
        driver(peer.address, lambda broker: ask(broker, check=True, retry=0.2))
    assert raised.value.errors[0].is_retriable


@both
@pytest.mark.parametrize(("reply", "text"), [
    (Reply(close=True), "closed the connection; connect again"),
    (Reply(messages.HeartbeatResponse(), cut_at=7), "became unusable at byte [0-9]+: frame: .*; connect again"),
    (Reply(raw=b"\0\0\0\4\0\0\0\x63"), "received a response with correlation ID 99, but no request is waiting for it"),
    (Reply(raw=b"\0\0\0\4\0\0\0\1"), "became unusable at byte [0-9]+: (HeartbeatResponse|ResponseHeader) v"),
    (None, "no answer came within 1 s; connect again"),
])  # fmt: skip
def test_peers_that_do_not_answer(driver: Any, peer: MockPeer, reply: Any, text: str) -> None:
    peer.on(messages.HeartbeatRequest).reply(reply)
    with pytest.raises(tagwire.PeerConnectionError if "again" in text else tagwire.TagwireError, match=text):
        driver(peer.address, lambda broker: broker.ask(BEAT), timeout=60 if reply else 1)


@both
def test_a_slow_answer_has_one_deadline(driver: Any) -> None:
    def serve(server: socket.socket) -> None:
        with server.accept()[0] as client, suppress(OSError):
            time.sleep(0.9)
            client.sendall(b"\1")
            while client.recv(65536):
                pass

    start = time.monotonic()
    error = pytest.raises(tagwire.PeerConnectionError, match="no answer came within 1 s")
    with served(serve) as address, error:
        driver(address, timeout=1)
    assert time.monotonic() - start < 1.8


def test_a_closed_connection(peer: MockPeer) -> None:
    peer.on(messages.HeartbeatRequest).reply(None)
    with tagwire.connect(str(peer.address), messages.registry) as broker, ThreadPoolExecutor(1) as threads:
        with pytest.raises(tagwire.EncodeError):
            broker.ask(5)  # type: ignore[arg-type]
        waiting = threads.submit(broker.ask, BEAT)
        peer.wait_for(messages.HeartbeatRequest)
        broker.close()
        for call in (waiting, threads.submit(broker.ask, METADATA)):
            with pytest.raises(tagwire.PeerConnectionError, match="the connection is closed"):
                call.result(20)


@pytest.mark.parametrize(("call", "error"), [
    ("sendall", KeyboardInterrupt), ("sendall", RuntimeError), ("recv_into", KeyboardInterrupt),
    ("receive", RuntimeError),
])  # fmt: skip
def test_an_interrupt_closes_only_a_busy_connection(peer: MockPeer, monkeypatch: Any, call: str, error: Any) -> None:
    def interrupted(sock: socket.socket, data: memoryview) -> int:
        if call == "sendall":
            sock.send(data[:5])
        raise error

    closed = pytest.raises(tagwire.PeerConnectionError, match="the connection is closed")
    with tagwire.connect(str(peer.address), messages.registry) as broker:
        with monkeypatch.context() as patch, pytest.raises(error):
            patch.setattr(Connection if call == "receive" else socket.socket, call, interrupted, raising=False)
            broker.ask(METADATA)
        with nullcontext() if call == "recv_into" else closed:
            assert broker.ask(METADATA).cluster_id == "c" and broker.connection.waiting == 0


@both
def test_a_peer_that_reads_no_request_until_its_response_is_read(driver: Any) -> None:
    def serve(server: socket.socket) -> None:
        connection = ServerConnection(messages.registry)
        with server.accept()[0] as client, suppress(OSError):
            while data := client.recv(65536):
                for request in connection.receive(data):
                    client.sendall(connection.send(messages.SaslAuthenticateResponse(auth_bytes=BIG), request))

    requests = [messages.SaslAuthenticateRequest(auth_bytes=BIG)] * 3
    with served(serve) as address:
        [found] = driver(address, lambda broker: broker.ask_all(requests), timeout=30, versions=VERSIONS)
    assert [len(each.auth_bytes) for each in found] == [len(BIG)] * 3


def test_no_socket_stays_open_for_a_peer_that_reads_nothing() -> None:
    brokers = []

    async def ask(address: Any, timeout: float) -> None:
        async with tagwire.connect_async(address, messages.registry, timeout=timeout, versions=VERSIONS) as broker:
            brokers.append(broker)
            await broker.ask(messages.ProduceRequest(acks=0, unknown_tags={99: BIG}))

    async def run(address: Any) -> None:
        start = time.monotonic()
        with pytest.raises(tagwire.PeerConnectionError, match="no answer"):
            await ask(address, 1)
        assert time.monotonic() - start < 1.9
        task = asyncio.ensure_future(ask(address, 60))
        for _ in range(2):  # cancel the request, and then `close`, which waits until the request has been sent
            await asyncio.sleep(0.2)
            task.cancel()
        await asyncio.wait([task])
        await asyncio.sleep(0.01)
        assert [each.transport.get_extra_info("socket").fileno() for each in brokers] == [-1, -1]

    with socket.create_server(("127.0.0.1", 0)) as server:
        asyncio.run(run(server.getsockname()))


@both
def test_peer_that_does_not_exist(driver: Any) -> None:
    with pytest.raises(tagwire.PeerConnectionError, match=r"^127\.0\.0\.1:1 can't be reached: "):
        driver(("127.0.0.1", 1, 0, 0))  # as in an IPv6 socket address


@both
@pytest.mark.parametrize("timeout", [0, -1, math.nan, math.inf, 86_401, None, "10"])
def test_a_timeout_that_is_not_a_positive_number_of_seconds(driver: Any, timeout: Any) -> None:
    with pytest.raises(InvalidTimeoutError, match="timeout: expected a number of seconds above 0, up to 86400, got "):
        driver("localhost:9092", timeout=timeout)


@both
@pytest.mark.parametrize(("text", "addresses"), [
    ("an address HOST:PORT", ["localhost", "[::1", "::1]:9092", ("localhost", "x"), ("localhost",), 5, None]),
    ("an address HOST:PORT", ["9092", "b:", ":9092", "b:65536", "b:-1", "b:1234567890", "b:0000000019999999"]),
    ("the name or IP address of a host", ["broker..example:1", "a" * 64 + ":1", "\0:1", "kafka://broker:1", "b:1,c:1"]),
])  # fmt: skip
def test_values_that_are_not_addresses(driver: Any, text: str, addresses: list[Any]) -> None:
    for address in addresses:
        with pytest.raises(AddressError, match=f"expected {text}"):
            driver(address)


@pytest.mark.parametrize(("error", "text"), [
    (ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)"), "Connection refused"),
    (OSError(errno.EHOSTUNREACH, "Connect call failed ('192.0.2.1', 1)"), "No route to host"),
    (OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', 1, 0, 0), [Errno 111]"), "none of its addr"),
    (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
])  # fmt: skip
def test_reasons_have_no_numbers(error: OSError, text: str) -> None:
    assert reason_of(error).startswith(text) and not re.search("[0-9]", reason_of(error))


@both
@pytest.mark.parametrize(("data", "options", "text"), [
    (b"HTTP/1.1 400\r\n", {}, r"became unusable at byte 0: frame: size .*; the other side uses HTTP"),
    (b"\x15\3\3\0\2\2\x46", {}, "the other side uses TLS: pass `ssl`"),
    (b"", {}, "after the request for its versions: if it uses TLS on this port, pass `ssl`"),
    (None, {"timeout": 1}, "no answer came within 1 s after the request for its versions: "),
    (b"", {"ssl": ssl.create_default_context()}, "; does the peer use TLS on this port"),
    (b"\0\0\0\4\0\0\0\0", {"ssl": ssl.create_default_context()}, "; does the peer use TLS on this port"),
])  # fmt: skip
def test_a_peer_of_another_protocol(driver: Any, data: bytes, options: dict[str, Any], text: str) -> None:
    def serve(server: socket.socket) -> None:
        with server.accept()[0] as client:
            client.recv(1000)
            client.sendall(data or b"")
            if data is None:
                client.recv(1000)

    with served(serve) as address, pytest.raises(tagwire.TagwireError, match=text):
        driver(address, **{"timeout": 60} | options)


@both
def test_tls(driver: Any, peer: MockPeer) -> None:
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(TLS / "certificate.pem", TLS / "key.pem")
    trusted = ssl.create_default_context(cafile=TLS / "certificate.pem")

    def serve(server: socket.socket) -> None:
        for _ in range(2):
            with suppress(OSError), server_side.wrap_socket(server.accept()[0], server_side=True) as client:
                connection = peer.connect()
                while not connection.is_closed:
                    for action in connection.receive_data(client.recv(65536)):
                        client.sendall(action.data if isinstance(action, Send) else b"")

    with served(serve) as address:
        [answer] = driver(address, lambda broker: broker.ask(METADATA), ssl=trusted, timeout=60)
        with pytest.raises(tagwire.PeerConnectionError, match="certificate verify failed"):
            driver(address, ssl=ssl.create_default_context(), timeout=60)
    assert answer.cluster_id == "c"
    with pytest.raises(TypeError, match="ssl: expected an SSLContext"):
        tagwire.connect("localhost:9092", messages.registry, ssl=True)  # type: ignore[arg-type]


def test_the_answer_to_a_cancelled_request_is_dropped(peer: MockPeer) -> None:
    cancelled = threading.Event()
    peer.on(messages.HeartbeatRequest).reply(lambda _: messages.HeartbeatResponse() if cancelled.wait(60) else None)

    async def run() -> None:
        assert peer.address is not None
        async with tagwire.connect_async(peer.address, messages.registry) as broker:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(broker.ask(BEAT), 0.05)
            cancelled.set()
            assert (await broker.ask(METADATA)).cluster_id == "c"
            assert broker.connection.waiting == 0

    asyncio.run(run())
