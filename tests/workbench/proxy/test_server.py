import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from kafka_clients import CLIENTS, PRINTED, printed_by
from network_packets import sized
from peer_frames import BEAT, framed

import tagwire_messages as kafka
from tagwire.addresses import Address
from tagwire.testing.peer import MockPeer, Reply
from tagwire_messages.metadata_response import MetadataResponseBroker
from tagwire_workbench.mocking.script import read_script
from tagwire_workbench.proxy import ProxyError, RecordedFrame, RecordingProxy
from tagwire_workbench.proxy.server import _Link

EXAMPLE = Path(__file__).parents[3] / "examples" / "kafka_peer.yaml"
REQUEST = framed(BEAT, 4)
METADATA = sized(kafka.registry.encode_request(kafka.MetadataRequest(), 12, correlation_id=1))
ANSWER = bytes.fromhex("0000000c  00000007 00  00000000 0000 00")


def proxied(peer: Address | MockPeer, play: Callable[[RecordingProxy, Address], Awaitable[None]]) -> RecordingProxy:
    frames: list[RecordedFrame] = []
    address = peer.address if isinstance(peer, MockPeer) else peer
    assert address is not None
    closed: list[RecordedFrame] = []
    proxy = RecordingProxy(address, frames.append, on_close=closed.append)

    async def run() -> None:
        async with proxy.serving() as listening, asyncio.timeout(60):
            await play(proxy, listening)

    asyncio.run(run())
    proxy.frames, proxy.closed = frames, closed  # type: ignore[attr-defined]
    return proxy


@asynccontextmanager
async def connected(address: Address) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(*address)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def metadata(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> list[Address]:
    """Send a MetadataRequest, and return the addresses in the response."""
    writer.write(METADATA)
    size = int.from_bytes(await reader.readexactly(4), "big")
    answer: Any = kafka.registry.decode_response(await reader.readexactly(size), 3, 12).message
    return [Address(each.host, each.port) for each in answer.brokers]


def test_one_hundred_connections(peer: MockPeer) -> None:
    async def client(address: Address) -> None:
        async with connected(address) as (reader, writer):
            writer.write(REQUEST * 20)
            assert await reader.readexactly(16 * 20) == ANSWER * 20

    async def play(proxy: RecordingProxy, address: Address) -> None:
        await asyncio.gather(*(client(address) for _ in range(100)))

    proxy: Any = proxied(peer, play)
    assert (len(proxy.frames), proxy.connection_count, proxy.problems) == (4000, 100, [])
    assert len({each.connection for each in proxy.frames}) == 100


@pytest.mark.parametrize("is_early", [False, True])
def test_half_closed_client_still_receives_responses(
    peer: MockPeer, is_early: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = _Link.begin

    def begin_early(link: _Link) -> None:
        """Receive a request and the end of the stream before the server is connected, as happens with uvloop."""
        begin(link)
        link.client.data_received(REQUEST)
        link.client.eof_received()

    async def play(proxy: RecordingProxy, address: Address) -> None:
        async with connected(address) as (reader, writer):
            if not is_early:
                writer.write(REQUEST)
                writer.write_eof()
            assert await reader.read() == ANSWER

    if is_early:
        monkeypatch.setattr(_Link, "begin", begin_early)

    proxy: Any = proxied(peer, play)
    assert (proxy.problems, [(each.connection, each.is_close) for each in proxy.closed]) == ([], [(1, True)])


@pytest.mark.parametrize("server", [MockPeer(), RecordingProxy(("127.0.0.1", 1), lambda frame: None)])
def test_no_connection_outlives_its_server(server: Any) -> None:
    async def run(pauses: int) -> None:
        async with server.serving() as address:
            client = socket.create_connection(address, timeout=5)
            for _ in range(pauses):
                await asyncio.sleep(0)
        with client, suppress(ConnectionError):
            assert await asyncio.to_thread(client.recv, 1) == b""

    for pauses in range(6):
        asyncio.run(run(pauses))


@pytest.mark.parametrize("reply", [Reply(kafka.HeartbeatResponse(), cut_at=9), Reply(raw=b"oops", close=True)])
def test_a_server_that_closes(peer: MockPeer, reply: Reply) -> None:
    peer.on(kafka.HeartbeatRequest).reply(reply)

    async def play(proxy: RecordingProxy, address: Address) -> None:
        async with connected(address) as (reader, writer):
            writer.write(REQUEST)
            assert await reader.read() == (reply.raw or ANSWER[:9])

    assert len(proxied(peer, play).problems) == 1


def test_a_client_that_resets(peer: MockPeer) -> None:
    async def play(proxy: RecordingProxy, address: Address) -> None:
        for _ in range(5):
            async with connected(address) as (_, writer):
                writer.write(REQUEST)
        async with connected(address) as (reader, writer):
            writer.write(REQUEST)
            assert await reader.readexactly(16) == ANSWER

    assert proxied(peer, play).connection_count == 6


@pytest.mark.parametrize("host", ["127.0.0.1", "broker..example", "\0"])
def test_server_that_does_not_exist(host: str) -> None:
    nobody = Address(host, 1)

    async def play(proxy: RecordingProxy, address: Address) -> None:
        async with connected(address) as (reader, writer):
            writer.write(REQUEST)
            with pytest.raises(ConnectionError):
                assert await reader.readexactly(1)

    proxy = proxied(nobody, play)
    assert proxy.problems[0].startswith(f"connection 1: {nobody} can't be reached: ")


@pytest.fixture
def unused() -> Iterator[Address]:
    """A loopback address at which nobody listens. Other processes can't use it either."""
    with socket.socket() as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", 0))
        yield Address(*bound.getsockname())


def test_each_outage_is_reported_once(unused: Address) -> None:
    async def is_rejected(address: Address) -> bool:
        async with connected(address) as (reader, _):
            with suppress(ConnectionError):
                return await asyncio.wait_for(reader.read(1), 10) == b""
        return True

    async def play(proxy: RecordingProxy, address: Address) -> None:
        assert [await is_rejected(address) for _ in range(3)] == [True] * 3
        with socket.create_server(unused) as server:
            async with connected(address):
                (await asyncio.to_thread(server.accept))[0].close()
        assert [await is_rejected(address) for _ in range(3)] == [True] * 3

    proxy = proxied(unused, play)
    assert [each.split(":")[0] for each in proxy.problems] == ["connection 1", "connection 5"]


def test_proxy_stops_accepting_bytes_if_neither_side_reads() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        taken = 0

        async def play(proxy: RecordingProxy, address: Address) -> None:
            nonlocal taken
            async with connected(address) as (_, writer):
                chunk = b"\0\x0f\xff\xfc" + bytes(0xFFFFC)
                while True:
                    writer.write(chunk)
                    try:
                        await asyncio.wait_for(writer.drain(), 2)
                    except TimeoutError:
                        return
                    taken += len(chunk)
                    assert taken < 100_000_000

        proxied(Address(*deaf.getsockname()), play)


def test_further_servers_get_listeners_of_their_own(peer: MockPeer) -> None:
    other = MockPeer()
    other.on(kafka.HeartbeatRequest).reply(kafka.HeartbeatResponse(error_code=7))
    with other.running():
        assert other.address is not None
        brokers = [
            MetadataResponseBroker(node_id=1, host=peer.address.host, port=peer.address.port),  # type: ignore[union-attr]
            MetadataResponseBroker(node_id=2, host=other.address.host, port=other.address.port),
        ]
        peer.on(kafka.MetadataRequest).reply(kafka.MetadataResponse(brokers=brokers))

        async def play(proxy: RecordingProxy, address: Address) -> None:
            async with connected(address) as sides:
                first, second = [await metadata(*sides) for _ in range(2)][-1]
            assert first == address != second
            assert proxy.listeners == {peer.address: first, other.address: second}
            async with connected(second) as (reader, writer):
                writer.write(REQUEST)
                assert await reader.readexactly(16) != ANSWER

        proxy: Any = proxied(peer, play)
        assert [each.server for each in proxy.frames] == [peer.address] * 4 + [other.address] * 2
        assert proxy.problems == [] and proxy.listeners == {}


def test_thousands_of_advertised_servers_are_one_problem(peer: MockPeer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagwire_workbench.proxy.server._MOST_LISTENERS", 2)
    brokers = [MetadataResponseBroker(node_id=each, host="far", port=each) for each in range(1, 1000)]
    peer.on("MetadataRequest").reply(kafka.MetadataResponse(brokers=brokers))

    async def play(proxy: RecordingProxy, address: Address) -> None:
        async with connected(address) as sides:
            for _ in range(3):
                await metadata(*sides)
        assert len(proxy.listeners) == 2

    [problem] = proxied(peer, play).problems
    assert problem.endswith("and further servers are not replaced: there are already 2 listeners")


def test_address_of_the_proxy_itself_is_not_replaced(peer: MockPeer) -> None:
    """If a broker advertises the proxy's own address, the proxy must not replace it, or it would connect to itself."""

    async def play(proxy: RecordingProxy, address: Address) -> None:
        own = [address, Address("localhost", address.port)]
        brokers = [MetadataResponseBroker(node_id=1, host=each.host, port=each.port) for each in own]
        peer.on(kafka.MetadataRequest).reply(kafka.MetadataResponse(brokers=brokers))
        async with connected(address) as sides:
            assert await metadata(*sides) == own
        assert len(proxy.listeners) == 1

    proxied(peer, play)


@pytest.mark.parametrize("client", CLIENTS)
def test_real_clients_stay_behind_the_proxy(client: str, tmp_path: Path) -> None:
    peer = read_script(EXAMPLE).peer(kafka.registry)
    lines: list[str] = []

    async def play(proxy: RecordingProxy, address: Address) -> None:
        lines.extend(await asyncio.to_thread(printed_by, client, address))

    with peer.running():
        proxy: Any = proxied(peer, play)
    assert lines == PRINTED
    assert proxy.connection_count == max(each.connection for each in peer.requests), "each came through the proxy"
    recorded = [each for each in proxy.frames if each.is_request]
    assert sorted(each.data for each in recorded) == sorted(each.frame for each in peer.requests)
    assert {0, 1, 3, 18} <= {each.api_key for each in proxy.frames if not each.is_request}


def test_where_it_listens(peer: MockPeer) -> None:
    proxy = RecordingProxy(("127.0.0.1", 1), lambda frame: None)

    async def serve(host: str) -> None:
        async with proxy.serving(host), proxy.serving():
            pass

    with pytest.raises(ProxyError, match="a recording proxy accepts any client, and other machines can reach it at "):
        asyncio.run(serve("0.0.0.0"))
    with pytest.raises(ProxyError, match=r"listens at 127\.0\.0\.1:"):
        asyncio.run(serve("127.0.0.1"))


def test_a_port_that_is_taken_and_a_proxy_of_itself(peer: MockPeer, unused: Address) -> None:
    async def serve(server: tuple[str, int], port: int) -> None:
        async with RecordingProxy(server, lambda frame: None).serving(port=port):
            pytest.fail("it listens")

    assert peer.address is not None
    taken = peer.address.port
    text = f"can't listen at 127.0.0.1:{taken}: Address already in use; choose another port, or 0 for any free port"
    with pytest.raises(ProxyError, match=text):
        asyncio.run(serve(("127.0.0.1", 1), taken))
    for host in ("127.0.0.1", "localhost"):
        with pytest.raises(ProxyError, match=f"{host}:{unused.port} is the address of the proxy itself"):
            asyncio.run(serve((host, unused.port), unused.port))
