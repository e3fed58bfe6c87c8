import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from network_packets import sized

from tagwire.errors import DecodeError, LimitError
from tagwire.frames.splitter import FrameSplitter

FRAMES = st.lists(st.binary(max_size=40), max_size=8)


@given(FRAMES, st.lists(st.integers(0, 300), max_size=20))
def test_any_cut_gives_the_same_frames(frames: list[bytes], cuts: list[int]) -> None:
    data = sized(*frames)
    offsets = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    splitter = FrameSplitter()
    found = []
    for start, end in pairwise(offsets):
        splitter.feed(memoryview(data)[start:end])
        found += list(splitter)
    assert found == frames
    assert (splitter.pending, splitter.offset) == (0, len(data))
    splitter.close()


def test_byte_by_byte() -> None:
    splitter = FrameSplitter()
    found = []
    for byte in sized(b"ab", b"", b"c"):
        splitter.feed(bytes([byte]))
        found.append(list(splitter))
    assert found == [[], [], [], [], [], [b"ab"], [], [], [], [b""], [], [], [], [], [b"c"]]


def test_iteration_continues_where_it_stopped() -> None:
    splitter = FrameSplitter()
    splitter.feed(sized(b"a", b"b", b"c"))
    assert next(iter(splitter)) == b"a"
    assert splitter.pending == 10
    assert list(splitter) == [b"b", b"c"]
    assert list(splitter) == []


@pytest.mark.parametrize(
    ("size", "error", "message"),
    [
        ("ffffffff", DecodeError, "frame: size at byte 14: found size -1, expected 0 or more"),
        ("80000000", DecodeError, "found size -2147483648"),
        ("0000000b", LimitError, "frame: size at byte 14: found size 11, expected at most 10 (max_size)"),
        ("7fffffff", LimitError, "found size 2147483647"),
    ],
)
def test_bad_sizes_are_rejected_immediately(size: str, error: type[DecodeError], message: str) -> None:
    splitter = FrameSplitter(max_size=10)
    splitter.feed(sized(b"x" * 10) + bytes.fromhex(size))
    frames = iter(splitter)
    assert next(frames) == b"x" * 10
    for attempt in (frames, splitter, splitter):
        with pytest.raises(error) as caught:
            list(attempt)
        assert message in str(caught.value)
        assert type(caught.value) is error and caught.value.offset == 14


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x00\x00", "found 2 bytes of a frame size, expected 4 bytes"),
        (b"\x00\x00\x00\x05ab", "found 2 bytes of a frame of 5 bytes"),
        (sized(b"a"), "found 5 bytes of unread frames, expected none; read all frames before calling `close`"),
        (b"\xff\xff\xff\xff", "found size -1"),
    ],
)
def test_a_stream_may_not_end_inside_a_frame(data: bytes, message: str) -> None:
    splitter = FrameSplitter()
    splitter.feed(sized(b"first"))
    assert list(splitter) == [b"first"]
    splitter.feed(data)
    with pytest.raises(DecodeError) as caught:
        splitter.close()
    assert message in str(caught.value) and caught.value.offset == 9


def test_frames_are_copies() -> None:
    splitter = FrameSplitter()
    source = bytearray(sized(b"abc"))
    splitter.feed(source)
    (frame,) = splitter
    source[5] = 0
    splitter.feed(b"\x00")
    assert frame == b"abc" and type(frame) is bytes


def test_work_is_linear_in_the_bytes() -> None:
    data = sized(b"x" * (1 << 20))
    splitter, frames, copied = FrameSplitter(), [b""], 0
    tracemalloc.start()
    try:
        for at in range(0, len(data), 64):
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            splitter.feed(data[at : at + 64])
            frames = list(splitter)
            copied += tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert frames == [data[4:]]
    assert copied < 16 * len(data)  # 8,000 times as much if each of the 16,384 parts copied the bytes before it
