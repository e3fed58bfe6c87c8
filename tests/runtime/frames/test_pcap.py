import random
import struct
from collections.abc import Iterable
from io import BytesIO

import pytest
from network_packets import Segment, pcap

pytest.importorskip("dpkt", reason="dpkt is not installed: pip install 'tagwire[pcap]'")

import tagwire_messages as messages
from tagwire.frames.pcap import CaptureError, NetworkFrame, network_frames
from tagwire.frames.tcp_frames import LostBytes

START = 1000


def request(number: int, topic: str = "orders") -> bytes:
    body = messages.MetadataRequest(topics=[messages.metadata_request.MetadataRequestTopic(name=topic)])
    frame = messages.registry.encode_request(body, 12, correlation_id=number, client_id="reader")
    return len(frame).to_bytes(4, "big") + frame


def response(number: int, size: int = 20) -> bytes:
    frame = number.to_bytes(4, "big") + bytes(each % 251 for each in range(size))
    return len(frame).to_bytes(4, "big") + frame


def cut(stream: bytes, width: int, *, is_request: bool = True, start: int = START) -> list[Segment]:
    offsets = range(0, len(stream), width)
    return [Segment(start + offset, stream[offset : offset + width], is_request) for offset in offsets]


def read(segments: Iterable[Segment], snap: int = 1 << 18) -> tuple[list[NetworkFrame], list[LostBytes]]:
    found = sorted(network_frames(BytesIO(pcap(segments, snap=snap)), registry=messages.registry), key=lambda e: e.time)
    return [each for each in found if each.lost is None], [each.lost for each in found if each.lost is not None]


def numbers(frames: list[NetworkFrame], *, is_request: bool = True) -> list[int]:
    start = 4 if is_request else 0
    found = [each.data[start : start + 4] for each in frames if each.is_request == is_request and not each.is_close]
    return [int.from_bytes(each, "big") for each in found]


SIZE = len(request(1))
SYN = Segment(START - 1, b"", flags="S")
SYN_ACK = Segment(START - 1, b"", is_request=False, flags="SA")


@pytest.mark.parametrize("start", [START, (1 << 32) - 500])
def test_a_missing_packet_costs_the_frame_that_it_belongs_to(start: int) -> None:
    requests = [request(number) for number in range(300)]
    packets = [Segment(start + number * len(each), each) for number, each in enumerate(requests)]
    syn = Segment(start - 1, b"", flags="S")
    frames, gaps = read([syn, *packets[:3], *packets[4:]])
    assert numbers(frames) == [number for number in range(300) if number != 3]
    assert [(gap.missing, gap.skipped) for gap in gaps] == [(len(requests[3]), 0)]
    expected = f"gap in the requests: {SIZE} bytes missing, 0 bytes left out: packets are missing from the capture"
    assert NetworkFrame("", True, b"", 0.0, gaps[0]).gap == expected


def test_responses_are_found_again_by_the_ids_of_their_requests() -> None:
    requests = b"".join(request(number) for number in range(40))
    answered = b"".join(response(number, 100 + number) for number in range(40))
    answers = cut(answered, 64, is_request=False)
    del answers[10:20]
    frames, gaps = read([SYN, SYN_ACK, *cut(requests, 500), *answers])
    assert numbers(frames) == list(range(40))
    found = numbers(frames, is_request=False)
    assert len(gaps) == 1 and gaps[0].missing == 640 and len(found) >= 32
    assert found == [number for number in range(40) if number in found], "in their order, none twice"
    whole = sum(len(each.data) + 4 for each in frames if not each.is_request)
    assert whole + gaps[0].missing + gaps[0].skipped == len(answered), "every byte is told of"


def test_responses_alone_are_found_again_by_ids_that_ascend() -> None:
    answers = cut(b"".join(response(number, 90) for number in range(50)), 50, is_request=False)
    frames, gaps = read([SYN_ACK, *answers[:5], *answers[9:]])
    assert len(gaps) == 1 and len(frames) >= 44


def test_size_of_a_damaged_frame_leads_to_the_next_frame() -> None:
    unknown = (30).to_bytes(4, "big") + (999).to_bytes(2, "big") + bytes(28)
    packets = cut(request(1, "t" * 200) + unknown, 40)
    frames, gaps = read([SYN, *packets[:2], *packets[3:]])
    assert [each.data for each in frames] == [unknown[4:]]
    assert (gaps[0].missing, gaps[0].skipped) == (40, len(request(1, "t" * 200)) - 40)


def test_a_capture_that_begins_and_ends_within_frames() -> None:
    frames, gaps = read(cut(b"".join(request(number) for number in range(10))[7:-3], 25))
    assert numbers(frames) == list(range(1, 9))
    assert [(gap.missing, gap.skipped, gap.reason) for gap in gaps] == [
        (0, SIZE - 7, "the capture begins within a frame"),
        (0, SIZE - 3, "the capture ends within a frame"),
    ]


def test_impossible_sizes_are_skipped() -> None:
    stream = request(1) + b"\xff\xff\xff\xff" + request(2) + request(3)
    frames, gaps = read([SYN, Segment(START, stream)])
    assert numbers(frames) == [1, 2, 3]
    assert [(gap.skipped, gap.reason) for gap in gaps] == [(4, "found size -1 of a frame, expected 0 or more")]


def test_packets_of_which_only_the_beginning_was_captured() -> None:
    packets = cut(request(1), SIZE) + cut(request(2, "t" * 100), 500, start=START + SIZE)
    packets += cut(request(3), SIZE, start=START + SIZE + len(packets[1].data))
    frames, gaps = read([SYN, *packets], snap=14 + 40 + 50)
    assert numbers(frames) == [1, 3]
    assert (gaps[0].missing, gaps[0].skipped) == (len(packets[1].data) - 50, 50)


def test_reused_port_starts_a_new_connection() -> None:
    again = [Segment(70, b"", flags="S"), Segment(71, request(2))]
    frames, gaps = read([SYN, Segment(START, request(1)[:20]), *again])
    assert numbers(frames) == [2] and [gap.reason for gap in gaps] == ["the capture ends within a frame"]
    assert [each.is_close for each in frames] == [True, False]


@pytest.mark.parametrize("segments", [
    [SYN, Segment(START, request(1)), Segment(START - (1 << 31) + 5, request(2))],
    [SYN, Segment(START, request(1)), Segment(START - (1 << 25), request(2))],
    [Segment(START - 1, request(1), flags="S"), Segment(START + SIZE, request(2))],
], ids=["a reused port without a SYN packet", "lower numbers", "a first packet with data"])  # fmt: skip
def test_unusual_first_packets(segments: list[Segment]) -> None:
    frames, gaps = read(segments)
    assert numbers(frames) == [1, 2] and not gaps


def test_packets_in_any_order_twice_and_overlapping_lose_nothing() -> None:
    chance = random.Random(7)
    stream = b"".join(request(number, "t" * (number % 90)) for number in range(60))
    packets = cut(stream, 37) + cut(stream, 53) + cut(stream, 1000)
    chance.shuffle(packets)
    frames, gaps = read([SYN, *packets])
    assert numbers(frames) == list(range(60)) and not gaps


@pytest.mark.parametrize("seed", range(12))
def test_every_byte_is_in_a_frame_or_reported(seed: int) -> None:
    chance = random.Random(seed)
    requests = [request(number, "t" * chance.randrange(120)) for number in range(80)]
    packets = cut(b"".join(requests), chance.choice((5, 30, 60, 400)))
    kept = [each for each in packets if chance.random() > 0.1]
    frames, gaps = read([SYN, *kept])
    end = kept[-1].sequence + len(kept[-1].data) - START
    covered = sum(len(each.data) + 4 for each in frames) + sum(gap.missing + gap.skipped for gap in gaps)
    assert covered == end
    assert {each.data for each in frames} <= {each[4:] for each in requests}, "no frame that was never sent"


def test_traffic_of_another_kind_is_left_out_and_reported() -> None:
    chance = random.Random(1)
    stream = b"\x16\x03\x01\x02\x00" + chance.randbytes(20_000)
    frames, gaps = read([SYN, *cut(stream, 1000)])
    assert not frames and [(gap.missing, gap.skipped) for gap in gaps] == [(0, len(stream))]


IPV4 = pcap([Segment(START, request(1))])[24 + 16 + 14 :]
TCP = IPV4[20:]
IPV6 = struct.pack(">IHBB", 6 << 28, len(TCP), 6, 64) + bytes(15) + b"\x01" + bytes(15) + b"\x02" + TCP


@pytest.mark.parametrize(
    ("link", "packet"),
    [
        (0, b"\x02\0\0\0" + IPV4),
        (1, b"\x02" * 12 + b"\x81\x00\x00\x07\x08\x00" + IPV4),
        (1, b"\x02" * 12 + b"\x86\xdd" + IPV6),
        (101, IPV4),
        (101, IPV6),
        (113, struct.pack(">HHH8sH", 0, 1, 6, bytes(8), 0x0800) + IPV4),
        (276, struct.pack(">HHIHBB8s", 0x86DD, 0, 1, 1, 0, 6, bytes(8)) + IPV6),
    ],
    ids=["loopback", "vlan", "ethernet-ipv6", "raw-ipv4", "raw-ipv6", "linux-cooked", "linux-cooked-2"],
)
def test_link_types(link: int, packet: bytes) -> None:
    """Find a frame behind the headers of each link type. The headers are built from the tables on tcpdump.org.

    The pcapng file has two interfaces with different link types, and the packet belongs to the second interface.
    """
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, link)
    file = header + struct.pack("<IIII", 0, 0, len(packet), len(packet)) + packet
    padded = packet.ljust(-(-len(packet) // 4) * 4, b"\0")
    blocks = [
        (0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
        (1, struct.pack("<HHI", 147, 0, 0)),
        (1, struct.pack("<HHI", link, 0, 0)),
        (6, struct.pack("<IIIII", 1, 0, 0, len(packet), len(packet)) + padded),
    ]
    sized = [(kind, len(body) + 12, body) for kind, body in blocks]
    pcapng = b"".join(struct.pack("<II", kind, size) + body + struct.pack("<I", size) for kind, size, body in sized)
    for each in (file, pcapng):
        [frame] = network_frames(BytesIO(each), registry=messages.registry)
        assert (frame.data, frame.lost, frame.gap) == (request(1)[4:], None, "")
        assert frame.connection.endswith(":9092")
    at = pcapng.rindex(struct.pack("<II", 6, len(padded) + 32)) + 4
    for size in (0, 11, 1 << 31):
        with pytest.raises(CaptureError, match=f"a packet or block before byte {at + 4} has a wrong size"):
            list(network_frames(BytesIO(pcapng[:at] + struct.pack("<I", size) + pcapng[at + 4 :]), registry=None))
    for end in (at, at + 4, len(pcapng) - 4):
        with pytest.raises(CaptureError, match="the capture is truncated: its last block is incomplete"):
            list(network_frames(BytesIO(pcapng[:end]), registry=None))
