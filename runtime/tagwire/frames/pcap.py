"""Frames out of network captures (pcap, pcapng), by scapy: it reads the files, and puts TCP's segments in order.

A capture that begins in the middle of a connection begins in the middle of a
frame; what follows can't be told apart then, so such a direction of a
connection is left out from the first size on that no frame has. Needs the
extra `pcap`.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO, Final, NamedTuple

from tagwire.errors import DecodeError, TagwireError
from tagwire.extras import required
from tagwire.frames.splitter import FrameSplitter

__all__ = ["MAGIC", "CaptureError", "NetworkFrame", "network_frames"]

MAGIC: Final = (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x0a\x0d\x0d\x0a")
"""How files of network captures begin: pcap in both byte orders, in microseconds and nanoseconds; pcapng."""

_HALF: Final = 1 << 31
_WAITING: Final = 1 << 16
"""Segments that may wait for one that was captured late."""


class CaptureError(TagwireError):
    """A file of captured traffic that can't be read."""


class NetworkFrame(NamedTuple):
    """A frame without its size, as it went over the network."""

    connection: str
    """The client's address and port, and the broker's."""
    is_request: bool
    data: bytes
    time: float
    """When its last segment came: milliseconds since 1970."""


class _Direction:
    """One direction of a connection: its bytes in order, and the frames in them."""

    def __init__(self) -> None:
        self.next: int | None = None
        self.waiting: dict[int, bytes] = {}
        self.splitter: FrameSplitter | None = FrameSplitter()

    def frames(self, sequence: int, data: bytes) -> Iterator[bytes]:
        """The frames that are complete with this segment."""
        if self.splitter is None:
            return
        self.next = sequence if self.next is None else self.next
        self.waiting[sequence] = data
        try:
            while (segment := self._following()) is not None:
                self.splitter.feed(segment)
                yield from map(bytes, self.splitter)
        except DecodeError:
            self.splitter = None
        if len(self.waiting) > _WAITING:
            self.splitter = None
            self.waiting.clear()

    def _following(self) -> bytes | None:
        """The bytes that come next, without those that were there before; None where they are not here yet."""
        for sequence, data in list(self.waiting.items()):
            assert self.next is not None
            behind = (self.next - sequence) % (2 * _HALF)  # sequence numbers begin again behind 2^32
            if behind >= _HALF:
                continue  # lies ahead
            del self.waiting[sequence]
            if behind < len(data):
                self.next = (sequence + len(data)) % (2 * _HALF)
                return data[behind:]
        return None


def network_frames(file: "str | BinaryIO", port: int = 9092) -> Iterator[NetworkFrame]:
    """The frames to and from a broker's port, out of a path or an open file, as each is complete.

    Raises CaptureError for a file that can't be read, MissingExtraError.
    """
    required("scapy", "pcap")
    from scapy.error import Scapy_Exception
    from scapy.layers.inet import TCP
    from scapy.utils import PcapReader

    directions: dict[tuple[str, bool], _Direction] = {}
    try:
        with PcapReader(file) as packets:
            for packet in packets:
                if TCP not in packet or port not in (packet[TCP].dport, packet[TCP].sport):
                    continue
                is_request = packet[TCP].dport == port
                connection = _connection(packet, is_request)
                if packet[TCP].flags.S:  # a connection begins; its first byte is the next one
                    direction = directions[connection, is_request] = _Direction()
                    direction.next = (packet[TCP].seq + 1) % (2 * _HALF)
                direction = directions.setdefault((connection, is_request), _Direction())
                for data in direction.frames(packet[TCP].seq, _payload(packet[TCP])):
                    yield NetworkFrame(connection, is_request, data, float(packet.time) * 1000)
    except (OSError, EOFError, Scapy_Exception) as error:
        raise CaptureError(f"can't be read as a network capture: {error}") from None


def _connection(packet: Any, is_request: bool) -> str:
    """The client's address and port, and the broker's."""
    ip, tcp = packet.getlayer("IP") or packet.getlayer("IPv6"), packet.getlayer("TCP")
    ends = (f"{ip.src}:{tcp.sport}", f"{ip.dst}:{tcp.dport}")
    return " -> ".join(ends if is_request else reversed(ends))


def _payload(tcp: Any) -> bytes:
    """TCP's bytes, without what Ethernet pads short packets with."""
    data, padding = bytes(tcp.payload), tcp.getlayer("Padding")
    return data if padding is None else data[: len(data) - len(padding.load)]
