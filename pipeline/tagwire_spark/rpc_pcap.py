"""Frames out of network captures (pcap, pcapng), by scapy: it reads the files, and puts TCP's segments in order.

A capture that begins in the middle of a connection begins in the middle of a
frame; what follows can't be told apart then, so such a direction of a
connection is left out from the first size on that no frame has.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from tagwire.errors import DecodeError
from tagwire.extras import required
from tagwire.frames import FrameSplitter
from tagwire_spark.errors import PipelineError

if TYPE_CHECKING:
    from tagwire_spark.rpc_frames import CapturedFrame

__all__ = ["pcap_frames"]

_HALF: Final = 1 << 31
_WAITING: Final = 1 << 16
"""Segments that may wait for one that was captured late."""


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


def pcap_frames(path: str, port: int) -> "Iterator[CapturedFrame]":
    """The frames to and from a broker's port. Raises PipelineError, MissingExtraError."""
    required("scapy", "pcap")
    from scapy.error import Scapy_Exception
    from scapy.layers.inet import TCP
    from scapy.utils import PcapReader

    from tagwire_spark.rpc_frames import CapturedFrame

    directions: dict[tuple[str, bool], _Direction] = {}
    number = 0
    try:
        with PcapReader(path) as packets:
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
                    number += 1
                    time = float(packet.time) * 1000
                    yield CapturedFrame(number, None, connection, None, is_request, data, time, None, None)
    except (OSError, EOFError, Scapy_Exception) as error:
        raise PipelineError("MALFORMED_CAPTURED_FRAMES", f"{path}: can't be read: {error}.") from None


def _connection(packet: Any, is_request: bool) -> str:
    """The client's address and port, and the broker's."""
    ip, tcp = packet.getlayer("IP") or packet.getlayer("IPv6"), packet.getlayer("TCP")
    ends = (f"{ip.src}:{tcp.sport}", f"{ip.dst}:{tcp.dport}")
    return " -> ".join(ends if is_request else reversed(ends))


def _payload(tcp: Any) -> bytes:
    """TCP's bytes, without what Ethernet pads short packets with."""
    data, padding = bytes(tcp.payload), tcp.getlayer("Padding")
    return data if padding is None else data[: len(data) - len(padding.load)]
