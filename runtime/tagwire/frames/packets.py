"""Read the TCP segments of network captures (pcap, pcapng) with the libraries of the extra `pcap`."""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from tagwire.errors import TagwireError
from tagwire.extras import required

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


def tcp_segments(file: "str | BinaryIO") -> Iterator[TcpSegment]:
    """Yield the TCP segments of a capture, in packet order. Packets without TCP are skipped.

    Raises MissingExtraError without the extra `pcap`, and CaptureError if `file` (a path or an open binary file) can't
    be read as a capture.
    """
    if isinstance(file, str):
        try:
            with Path(file).open("rb") as opened:
                yield from tcp_segments(opened)
        except OSError as error:
            raise CaptureError(f"the file can't be read: {error.strerror or error}") from None
        return
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
            yield link, (seconds * unit + fraction) / unit * 1000, _whole(file.read(size), size, at, "packet")
            at += size
    except _DATA_ERRORS as error:
        raise _unreadable(error) from None


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
    try:
        for block in pcapng.FileScanner(file):
            if isinstance(block, pcapng.blocks.BasePacketBlock):
                time = getattr(block, "timestamp", 0.0)
                yield block.interface.link_type, time * 1000, block.packet_data
    except (EOFError, pcapng.exceptions.TruncatedFile):
        raise CaptureError(f"the capture is truncated: its last block is incomplete at byte {file.tell()}") from None
    except (*_DATA_ERRORS, LookupError, RuntimeError, TypeError, OverflowError, struct.error) as error:
        raise _unreadable(error) from None
    except pcapng.exceptions.PcapngException as error:
        raise _unreadable(error) from None


def _unreadable(error: Exception) -> CaptureError:
    return CaptureError(f"the network capture can't be read: {error or type(error).__name__}")
