"""Make the bytes of connections, and network captures in the pcap format.

A packet has an Ethernet header, an IPv4 header, and one TCP segment. The layouts are from the pcap Internet-Draft
(draft-ietf-opsawg-pcap), RFC 791, and RFC 9293.
"""

import json
import socket
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

_FLAGS = {"F": 1, "S": 2, "R": 4, "P": 8, "A": 16}


class Segment(NamedTuple):
    sequence: int
    data: bytes
    is_request: bool = True
    flags: str = "PA"
    client_port: int = 40000


def sized(*frames: bytes) -> bytes:
    """Return the bytes that a connection carries for these frames: each frame's size, and then the frame itself."""
    return b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)


def jsonl(path: Path, *rows: Any) -> Path:
    """Write a capture in tagwire's own format, one line of JSON for each row."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def pcap(segments: Iterable[Segment], *, port: int = 9092, snap: int = 1 << 18) -> bytes:
    """Return a capture of these segments, which are a millisecond apart. Packets are truncated to `snap` bytes."""
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snap, 1)
    packets = []
    for number, segment in enumerate(segments):
        packet = _packet(segment, port)
        sizes = min(len(packet), snap), len(packet)
        packets.append(struct.pack("<IIII", 1_700_000_000 + number // 1000, number % 1000 * 1000, *sizes))
        packets.append(packet[:snap])
    return header + b"".join(packets)


def _packet(segment: Segment, port: int) -> bytes:
    client, broker = (socket.inet_aton("10.0.0.1"), segment.client_port), (socket.inet_aton("10.0.0.2"), port)
    (source, source_port), (target, target_port) = (client, broker) if segment.is_request else (broker, client)
    flags = sum(_FLAGS[each] for each in segment.flags)
    number = segment.sequence % (1 << 32)
    tcp = struct.pack(">HHIIBBHHH", source_port, target_port, number, 0, 5 << 4, flags, 65535, 0, 0) + segment.data
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0, source, target)
    return b"\x02" * 12 + b"\x08\x00" + ip + tcp
