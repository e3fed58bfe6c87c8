"""Read network captures (pcap, pcapng): read the TCP segments, put them in order, and find the frames in them.

Captures are often incomplete: they begin or end in the middle of a connection, the machine was too slow to record all
packets, or only the first bytes of each packet were recorded. After such a gap, `tagwire.frames.tcp_frames` finds
the next frame. A gap is reported when the capture ends, when the connection is opened again, or when too much data has
arrived after the gap. The libraries that parse packets come with the extra `pcap`.
"""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import partial
from heapq import heappop, heappush
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

from tagwire.errors import TagwireError
from tagwire.frames.tcp_frames import DirectionFrames, LostBytes, RequestHeaders, ResponseHeaders
from tagwire.lazy import required
from tagwire.text_format import count

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry

__all__ = ["MAGIC", "CaptureError", "NetworkFrame", "network_frames", "tcp_segment", "tcp_segments"]

_PCAPNG: Final = b"\x0a\x0d\x0d\x0a"
MAGIC: Final = (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d", _PCAPNG)
"""The magic numbers of network captures.

pcap has four: timestamps are in microseconds or nanoseconds, in either byte order. pcapng has one.
"""
_LITTLE_ENDIAN: Final = (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1")
_NANOSECONDS: Final = (b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d")
_FILE_HEADER: Final = 24
_PACKET_HEADER: Final = 16
"""The sizes of headers in pcap files."""
_LINK_TYPE: Final = 0x03FFFFFF
"""A mask for the link type, which shares a field of the pcap header with bits that describe Ethernet checksums."""

_DATA_ERRORS: Final = (OSError, EOFError, ValueError, zlib.error)
_LAYERS: Final = {
    0: ("loopback", "Loopback"),
    1: ("ethernet", "Ethernet"),
    12: ("ip", "IP"),
    14: ("ip", "IP"),
    101: ("ip", "IP"),
    108: ("loopback", "Loopback"),
    113: ("sll", "SLL"),
    228: ("ip", "IP"),
    229: ("ip6", "IP6"),
    276: ("sll2", "SLL2"),
}
"""Maps link types (tcpdump.org's LINKTYPE_ numbers) to the dpkt module and class that parse the outermost layer."""
_EITHER_IP: Final = (12, 14, 101)
"""Link types whose packets begin with an IPv4 or IPv6 header."""
_NUMBERS: Final = 1 << 32
"""The number of different TCP sequence numbers. After the highest one, they start again at 0."""
_WINDOW: Final = 1 << 30
"""The maximum number of bytes in flight on a TCP connection. Segments further apart belong to different connections."""
_LARGEST: Final = 1 << 24
"""The maximum size of a packet or block, as in Wireshark. Only damaged captures have larger ones."""
_WAITING: Final = 1 << 16
_WAITING_BYTES: Final = 1 << 24
"""The maximum numbers of segments and bytes that wait for a missing segment.

A segment that is more bytes than this before the start of a connection belongs to a later connection.
"""


class CaptureError(TagwireError):
    """Raised if a file of captured traffic can't be read."""


class TcpSegment(NamedTuple):
    """The TCP payload of one packet."""

    source: str
    source_port: int
    target: str
    target_port: int
    sequence: int
    begins: bool
    """Whether the SYN flag is set."""
    data: bytes
    time: float
    """When the packet was captured: milliseconds since 1970."""


def tcp_segments(file: BinaryIO) -> Iterator[TcpSegment]:
    """Yield the TCP segments of a capture, in packet order. Packets without TCP are skipped.

    Raises MissingExtraError without the extra `pcap`, and CaptureError if `file` (an open binary file) can't be read as
    a capture.
    """
    magic = file.read(4)
    if magic not in MAGIC:
        raise CaptureError("the input is not a network capture: it begins with neither a pcap nor a pcapng header")
    file.seek(-len(magic), 1)
    for link, time, packet in _pcapng_packets(file) if magic == _PCAPNG else _pcap_packets(file):
        segment = tcp_segment(link, packet, time)
        if segment is not None:
            yield segment


def tcp_segment(link: int, packet: bytes, time: float) -> TcpSegment | None:
    """Return the TCP segment in a packet, or None if its TCP header is incomplete or its link type is unknown.

    Raises MissingExtraError if the library that parses packets is not installed.
    """
    dpkt = required("dpkt", "pcap")
    if link not in _LAYERS:
        return None
    module, name = _LAYERS[229 if link in _EITHER_IP and packet[:1] >= b"\x60" else link]
    try:
        layer = getattr(required(f"dpkt.{module}", "pcap"), name)(packet)
        while not isinstance(layer, (dpkt.ip.IP, dpkt.ip6.IP6)):
            layer = layer.data
        tcp = layer.data
        if not isinstance(tcp, dpkt.tcp.TCP):
            return None
    except (dpkt.Error, AttributeError, IndexError, TypeError, ValueError, struct.error):
        return None  # not TCP over IP, or a header is truncated
    import socket  # imported here, because the import is slow

    family = socket.AF_INET if isinstance(layer, dpkt.ip.IP) else socket.AF_INET6
    source, target = (socket.inet_ntop(family, each) for each in (layer.src, layer.dst))
    ends = f"{source}:{tcp.sport}", tcp.sport, f"{target}:{tcp.dport}", tcp.dport
    return TcpSegment(*ends, tcp.seq, bool(tcp.flags & dpkt.tcp.TH_SYN), bytes(tcp.data), time)


def _pcap_packets(file: BinaryIO) -> Iterator[tuple[int, float, bytes]]:
    """Yield the link type, time and data of each packet. Raises CaptureError with the position of a truncated packet.

    Source: draft-ietf-opsawg-pcap.
    """
    try:
        start = _whole(file.read(_FILE_HEADER), _FILE_HEADER, 0, "file header")
        order = "<" if start[:4] in _LITTLE_ENDIAN else ">"
        unit = 10**9 if start[:4] in _NANOSECONDS else 10**6
        link = int(struct.unpack(f"{order}20xI", start)[0]) & _LINK_TYPE
        at = _FILE_HEADER
        while header := file.read(_PACKET_HEADER):
            _whole(header, _PACKET_HEADER, at, "packet header")
            seconds, fraction, size = struct.unpack(f"{order}III4x", header)
            at += _PACKET_HEADER
            yield link, (seconds * unit + fraction) / unit * 1000, _whole(_read(file, size), size, at, "packet")
            at += size
    except _DATA_ERRORS as error:
        raise _unreadable(error) from None


def _read(file: BinaryIO, size: int) -> bytes:
    """Read a part of a capture. Raises CaptureError if no packet or block can have this size."""
    if not 0 <= size <= _LARGEST:
        raise CaptureError(f"the capture is damaged: a packet or block before byte {file.tell()} has a wrong size")
    return file.read(size)


def _whole(data: bytes, size: int, at: int, what: str) -> bytes:
    if len(data) < size:
        raise CaptureError(
            f"the capture is truncated: the {what} at byte {at} has {size} bytes, but only {len(data)} are left"
        )
    return data


def _pcapng_packets(file: BinaryIO) -> Iterator[tuple[int, float, bytes]]:
    """Yield the link type, time and data of each packet. Each interface has its own link type and time unit."""
    pcapng: Any = required("pcapng", "pcap")
    required("pcapng.blocks", "pcap")
    end = 0
    try:
        for block in pcapng.FileScanner(SimpleNamespace(read=partial(_read, file), tell=file.tell)):
            if isinstance(block, pcapng.blocks.BasePacketBlock):
                time = getattr(block, "timestamp", 0.0)
                yield block.interface.link_type, time * 1000, block.packet_data
            end = file.tell()
        if file.tell() != end:  # the library stops silently if the last block ends after one of its fields
            raise EOFError
    except (EOFError, pcapng.exceptions.TruncatedFile):
        raise CaptureError(f"the capture is truncated: its last block is incomplete at byte {file.tell()}") from None
    except (*_DATA_ERRORS, LookupError, RuntimeError, TypeError, OverflowError, struct.error) as error:
        raise _unreadable(error) from None
    except pcapng.exceptions.PcapngException as error:
        raise _unreadable(error) from None


def _unreadable(error: Exception) -> CaptureError:
    return CaptureError(f"the network capture can't be read: {error or type(error).__name__}")


class NetworkFrame(NamedTuple):
    """A frame from a network capture.

    Or, without `data`, a gap in one direction of a connection (`lost`), or the end of a connection (`is_close`).
    """

    connection: str
    """The addresses and ports of client and broker."""
    is_request: bool
    data: bytes
    """The header and body of the frame, without the four bytes of its size."""
    time: float
    """When the frame's last segment was captured, or the latest segment in this direction when the gap was found.

    In milliseconds since 1970.
    """
    lost: LostBytes | None = None
    """The bytes that were lost in a gap, or None for a frame."""
    is_close: bool = False
    """Whether a new connection with the same addresses and ports begins here."""

    @property
    def gap(self) -> str:
        """Describe the gap, or return "" for a frame."""
        if self.lost is None:
            return ""
        side = "requests" if self.is_request else "responses"
        found = f"{count(self.lost.missing, 'byte')} missing, " if self.lost.missing else ""
        return f"gap in the {side}: {found}{count(self.lost.skipped, 'byte')} left out: {self.lost.reason}"


class _Direction:
    """One direction of a connection: puts TCP segments in order, and finds the frames and gaps in their bytes."""

    def __init__(
        self, connection: str, is_request: bool, headers: RequestHeaders | ResponseHeaders, start: int | None = None
    ) -> None:
        """`start` is the sequence number of the direction's first byte, or None if the SYN packet was not captured."""
        self._connection = connection
        self._is_request = is_request
        self._headers = headers
        self._begin(start)

    def _begin(self, start: int | None) -> None:
        self.start = start
        self._frames = DirectionFrames(self._headers, is_start=start is not None)
        self._next = start
        """The sequence number of the next byte, which does not wrap at 2^32."""
        self._waiting: list[tuple[int, int, bytes, float]] = []
        """A heap of segments that wait for earlier ones: (sequence number, arrival number, bytes, time)."""
        self._waiting_bytes = self._count = 0
        self._time = 0.0

    def segment(self, sequence: int, data: bytes, time: float) -> Iterator[NetworkFrame]:
        """Add a segment. Yield the frames that it completes, and the gaps before them."""
        ahead = 0 if self._next is None else (sequence - self._next + _NUMBERS // 2) % _NUMBERS - _NUMBERS // 2
        is_before = (self._next or 0) + ahead < (self.start or 0) - _WAITING_BYTES
        if is_before or abs(ahead) > _WINDOW:
            yield from self.restart(None)
            if self._is_request:
                yield NetworkFrame(self._connection, True, b"", time, is_close=True)
            ahead = 0
        if self._next is None:
            self.start = self._next = sequence
        self._count += 1
        heappush(self._waiting, (self._next + ahead, self._count, data, time))
        self._waiting_bytes += len(data)
        yield from self._ready()
        while len(self._waiting) > _WAITING or self._waiting_bytes > _WAITING_BYTES:
            yield from self._jump()

    def restart(self, start: int | None) -> Iterator[NetworkFrame]:
        """Yield the remaining frames and gaps, then begin a new connection that has the same headers."""
        yield from self.close()
        self._begin(start)

    def close(self) -> Iterator[NetworkFrame]:
        while self._waiting:
            yield from self._jump()
        yield from self._events(self._frames.close())

    def _ready(self) -> Iterator[NetworkFrame]:
        assert self._next is not None
        while self._waiting and self._waiting[0][0] <= self._next:
            sequence, _, data, time = heappop(self._waiting)
            self._waiting_bytes -= len(data)
            new = data[self._next - sequence :]  # skip bytes that an earlier segment already contained
            if new:
                self._next += len(new)
                self._time = max(self._time, time)
                yield from self._events(self._frames.feed(new))

    def _jump(self) -> Iterator[NetworkFrame]:
        assert self._next is not None
        first = self._waiting[0][0]
        yield from self._events(self._frames.miss(first - self._next))
        self._next = first
        yield from self._ready()

    def _events(self, found: Iterator[bytes | LostBytes]) -> Iterator[NetworkFrame]:
        for each in found:
            data, lost = (b"", each) if isinstance(each, LostBytes) else (each, None)
            yield NetworkFrame(self._connection, self._is_request, data, self._time, lost)


_Connection = dict[bool, _Direction]
"""Both directions of a connection, by `is_request`.

Requests come first, because responses are recognized by the correlation IDs of earlier requests.
"""


def _connection(name: str, registry: "Registry | None", start: int | None) -> _Connection:
    waiting: Counter[int] = Counter()
    return {
        True: _Direction(name, True, RequestHeaders(waiting, registry), start),
        False: _Direction(name, False, ResponseHeaders(waiting)),
    }


def _closed(connection: _Connection) -> Iterator[NetworkFrame]:
    for side in connection.values():
        yield from side.close()


def network_frames(file: BinaryIO, port: int = 9092, registry: "Registry | None" = None) -> Iterator[NetworkFrame]:
    """Yield the frames to and from a broker's port, each as soon as it is complete. `file` is an open binary file.

    Bytes outside of frames are yielded as a gap. Frames after a gap may be yielded late, so sort by `time` if
    the order matters. After a gap, a request is recognized by its API key and version: the registry must have them or,
    without a registry, they must be small numbers. Raises MissingExtraError without the extra `pcap`. If the file can't
    be read, yields the frames before the error, then raises CaptureError.
    """
    connections: dict[str, _Connection] = {}
    failure = None
    try:
        for segment in tcp_segments(file):
            yield from _frames_of(segment, port, connections, registry)
    except CaptureError as error:  # raised below, after the remaining frames
        failure = error
    for connection in connections.values():
        yield from _closed(connection)
    if failure is not None:
        raise failure


def _frames_of(
    segment: TcpSegment, port: int, connections: dict[str, _Connection], registry: "Registry | None"
) -> Iterator[NetworkFrame]:
    if port not in (segment.source_port, segment.target_port):
        return
    is_request, sequence = segment.target_port == port, segment.sequence
    ends = (segment.source, segment.target)
    name = " -> ".join(ends if is_request else reversed(ends))
    if segment.begins:  # the SYN flag itself uses one sequence number
        sequence = (sequence + 1) % _NUMBERS
    connection = connections.get(name)
    if connection is None:
        start = sequence if segment.begins and is_request else None
        connection = connections[name] = _connection(name, registry, start)
    if segment.begins and connection[is_request].start != sequence:
        if is_request:
            yield from _closed(connection)
            yield NetworkFrame(name, True, b"", segment.time, is_close=True)
            connection = connections[name] = _connection(name, registry, sequence)
        else:
            yield from connection[False].restart(sequence)
    if segment.data:
        yield from connection[is_request].segment(sequence, segment.data, segment.time)
