import random
from collections import Counter
from collections.abc import Callable
from io import BytesIO

import pytest
from growth import cpu_seconds, grows_linearly, lines_run
from network_packets import Segment, pcap

import tagwire_messages as messages
from tagwire.frames.tcp_frames import DirectionFrames, RequestHeaders, ResponseHeaders

pytestmark = pytest.mark.thorough

HEADER = (3).to_bytes(2, "big") + (12).to_bytes(2, "big") + bytes(4)
"""The header of a MetadataRequest v12."""


def test_packets_after_a_missing_packet() -> None:
    pytest.importorskip("dpkt", reason="dpkt is not installed: pip install 'tagwire[pcap]'")
    from tagwire.frames.pcap import _Direction

    def work_of(count: int) -> Callable[[], object]:
        def work() -> None:
            side = _Direction("", True, RequestHeaders(Counter(), messages.registry), 0)
            for number in range(count, 0, -1):
                assert not list(side.segment(number * 10, bytes(10), 0.0))
            assert sum(1 for _ in side.close())

        return work

    assert grows_linearly(lines_run, work_of, 100)


def overlapping(count: int) -> bytes:
    """Return frame headers with wrong sizes, which are so large that the reader must read far ahead to reject them."""
    return b"".join((12 * (count - number) + 500_000).to_bytes(4, "big") + HEADER[:8] for number in range(count))


def frames_between_bad_sizes(count: int) -> bytes:
    return b"".join((8).to_bytes(4, "big") + HEADER + (8).to_bytes(4, "big") + HEADER + b"\xff" for _ in range(count))


def chains_that_break(count: int) -> bytes:
    """Return many frame headers whose sizes don't lead to another frame header."""
    return ((16).to_bytes(4, "big") + HEADER[:8] + b"\x7f" * 4) * count


def ends_in_one_place(count: int) -> bytes:
    return b"".join((12 * (count - number) - 4).to_bytes(4, "big") + HEADER[:8] for number in range(count)) + b"\xff"


STREAMS = [overlapping, frames_between_bad_sizes, chains_that_break, ends_in_one_place]


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("is_request", [True, False], ids=["requests", "responses"])
@pytest.mark.parametrize(("measure", "width"), [(lines_run, 1400), (lines_run, 1 << 30), (cpu_seconds, 1 << 30)])
def test_work_of_a_search_is_linear(
    measure: Callable[..., float], width: int, is_request: bool, stream: Callable[[int], bytes]
) -> None:
    def work_of(count: int) -> Callable[[], object]:
        data = stream(count)

        def work() -> None:
            headers = RequestHeaders(Counter(), messages.registry) if is_request else ResponseHeaders(Counter())
            frames = DirectionFrames(headers, is_start=False)
            for start in range(0, len(data), width):
                list(frames.feed(data[start : start + width]))
            list(frames.miss(5))
            list(frames.feed(data[:width]))
            list(frames.close())

        return work

    assert grows_linearly(measure, work_of, 100 if measure is lines_run else 400)


def test_no_capture_raises_anything_else() -> None:
    pytest.importorskip("dpkt", reason="dpkt is not installed: pip install 'tagwire[pcap]'")
    from tagwire.frames.pcap import CaptureError, network_frames

    chance = random.Random(3)
    frame = len(HEADER).to_bytes(4, "big") + HEADER
    good = pcap([Segment(number * 12, frame, number % 3 > 0) for number in range(12)])
    for _ in range(150):
        bad = bytearray(good)
        for _ in range(chance.randrange(1, 6)):
            bad[chance.randrange(len(bad))] = chance.choice((0, 1, 0x7F, 0xFF, chance.randrange(256)))
        try:
            list(network_frames(BytesIO(bytes(bad[: chance.randrange(len(bad) // 2, len(bad) + 1)]))))
        except CaptureError:
            continue
