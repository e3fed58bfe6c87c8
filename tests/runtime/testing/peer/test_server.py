import asyncio
import socket
import threading
import time
from typing import Any

import pytest
from peer_frames import BEAT, OK, framed

import tagwire_messages as kafka
from tagwire.testing.peer import Address, MockPeer, PeerError, Reply, replies
from tagwire.testing.peer.replies import Send
from tagwire.testing.peer.server import _MOST_WAITING, _Waiting

REQUEST = framed(BEAT, 4)
ANSWER = bytes.fromhex("0000000c  00000007 00  00000000 0000 00")


def read(client: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := client.recv(size - len(data))):
        data += more
    return data


def connected(address: Address) -> socket.socket:
    return socket.create_connection(address, timeout=10)


def test_in_a_thread(peer: MockPeer) -> None:
    peer.on(kafka.HeartbeatRequest).reply(OK)
    with peer.running() as address, connected(address) as client:
        assert (peer.address, address.host) == (address, "127.0.0.1")
        client.sendall(REQUEST[:5])
        client.sendall(REQUEST[5:] + REQUEST)
        assert read(client, 32) == ANSWER * 2
        assert [each.address for each in peer.requests] == [address] * 2
    assert peer.address is None
    with pytest.raises(OSError):
        connected(address)
    assert "tagwire mock peer" not in {thread.name for thread in threading.enumerate()}


def test_in_a_running_loop(peer: MockPeer) -> None:
    peer.on(kafka.HeartbeatRequest).reply(OK)

    async def ask() -> bytes:
        async with peer.serving() as address:
            reader, writer = await asyncio.open_connection(*address)
            writer.write(REQUEST)
            found = await asyncio.to_thread(peer.wait_for, kafka.HeartbeatRequest)
            assert len(found) == 1
            data = await reader.readexactly(16)
            writer.close()
            await writer.wait_closed()
            return data

    assert asyncio.run(ask()) == ANSWER


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply(OK, cut_at=9), ANSWER[:9]),
        (Reply(OK, close=True, split_at=range(16)), ANSWER),
        (Reply(close=True), b""),
        (Reply(raw=b"oops", close=True), b"oops"),
    ],
)
def test_the_connection_ends(peer: MockPeer, reply: Reply, expected: bytes) -> None:
    peer.on(kafka.HeartbeatRequest).reply(reply)
    with peer.running() as address, connected(address) as client:
        client.sendall(REQUEST)
        assert read(client, 100) == expected


def test_parts_arrive_one_by_one(peer: MockPeer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "_PAUSE", 600)
    peer.on(kafka.HeartbeatRequest).reply(OK, split_at=[6])
    with peer.running() as address, connected(address) as client:
        client.sendall(REQUEST)
        assert client.recv(100) == ANSWER[:6]


def test_a_delay_holds_later_answers_back_but_no_requests(peer: MockPeer) -> None:
    peer.on(kafka.HeartbeatRequest).reply([Reply(OK, delay=0.2), OK])
    with peer.running() as address, connected(address) as client:
        before = time.monotonic()
        client.sendall(REQUEST)
        time.sleep(0.02)
        client.sendall(REQUEST)
        assert len(peer.wait_for(kafka.HeartbeatRequest, count=2)) == 2
        assert read(client, 32) == ANSWER * 2
        assert time.monotonic() - before >= 0.2


def test_closing_does_not_wait_for_clients(peer: MockPeer) -> None:
    peer.on(kafka.HeartbeatRequest).reply(OK, delay=600)
    before = time.monotonic()
    with peer.running() as address, connected(address) as waiting, connected(address) as idle:
        waiting.sendall(REQUEST)
        peer.wait_for(kafka.HeartbeatRequest)
    assert time.monotonic() - before < 30
    assert idle.fileno() == -1


@pytest.mark.parametrize("close", [False, True])
def test_client_that_does_not_read_blocks_nobody(peer: MockPeer, close: bool) -> None:
    peer.on(kafka.HeartbeatRequest).reply(raw=bytes(50_000_000), close=close)
    before = time.monotonic()
    with peer.running() as address, connected(address) as client:
        client.sendall(REQUEST)
        peer.wait_for(kafka.HeartbeatRequest)
        assert client.recv(10) == bytes(10)
    assert time.monotonic() - before < 30


@pytest.mark.thorough
def test_answers_to_a_client_that_does_not_read_are_bounded(peer: MockPeer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagwire.testing.peer.server._MOST_WAITING", 1 << 16)
    peer.on(kafka.HeartbeatRequest).reply(OK)
    with peer.running() as address, connected(address) as client:
        client.settimeout(2)
        with pytest.raises(TimeoutError):
            while True:
                client.sendall(REQUEST * 1000)
                assert len(peer.journal.requests) < 300_000


def test_waiting_for_room_ends_with_the_answers() -> None:
    async def wait() -> None:
        waiting = _Waiting()
        waiting.put(Send(bytes(_MOST_WAITING + 1)))
        room = asyncio.ensure_future(waiting.room())
        await asyncio.sleep(0)
        assert not room.done()
        waiting.end()
        await asyncio.wait_for(room, 10)
        await asyncio.wait_for(waiting.room(), 10)

    asyncio.run(wait())


def test_clients_that_vanish_do_no_harm(peer: MockPeer) -> None:
    peer.on(kafka.HeartbeatRequest).reply(OK, split_at=range(16))
    with peer.running() as address:
        for _ in range(5):
            with connected(address) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # `close` sends a reset
                client.sendall(REQUEST * 50)
        with connected(address) as client:
            client.sendall(REQUEST)
            assert read(client, 16) == ANSWER
    assert peer.problems == []


def test_an_error_of_a_callback_ends_no_connection(peer: MockPeer) -> None:
    def fail(_: object) -> None:
        raise BrokenPipeError

    peer.on(kafka.HeartbeatRequest).reply(OK)
    peer.journal.on_received = fail
    with peer.running() as address, connected(address) as client:
        client.sendall(REQUEST * 2)
        assert read(client, 32) == ANSWER * 2
    assert [type(each.cause) for each in peer.problems] == [BrokenPipeError] * 2


@pytest.mark.parametrize(("problem", "host", "port"), [
    *(("expected the name or IP address of a host, got ", host, 0) for host in ("broker..example", "a" * 64, "\0")),
    *(("other machines can reach it", host, 0) for host in ("0.0.0.0", "::", "", "192.0.2.1", "example.org")),
    *(("expected a port from 0 to 65535, got ", "localhost", port) for port in (-1, 65536, "x")),
])  # fmt: skip
def test_addresses_that_are_rejected(peer: MockPeer, problem: str, host: str, port: Any) -> None:
    with pytest.raises(PeerError, match=problem), peer.running(host, port):
        pass
    assert peer.address is None


def test_other_names_and_interfaces(peer: MockPeer) -> None:
    with peer.running("localhost") as address:
        assert address.port
    with peer.running("0.0.0.0", allow_remote=True) as address:
        assert str(address).startswith("0.0.0.0:")


def test_a_port_that_is_taken(peer: MockPeer) -> None:
    with peer.running() as address:
        taken = rf"can't listen at {address}: Address already in use; choose another port, or 0 for any free port"
        with pytest.raises(PeerError, match=taken) as caught, MockPeer().running(port=address.port):
            pass
        assert isinstance(caught.value, OSError)
        with pytest.raises(PeerError, match=r"already listening at 127\.0\.0\.1:\d+;"), peer.running():
            pass
    with peer.running(port=address.port) as again:  # the port must be free as soon as the server has stopped
        assert again == address
