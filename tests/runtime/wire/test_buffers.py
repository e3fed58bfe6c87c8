"""Change the input buffer while it is decoded with `views=True`: a view must never expose other memory."""

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import tagwire_messages as messages
from tagwire import DecodeError
from tagwire_messages.produce_request import PartitionProduceData, TopicProduceData

pytestmark = pytest.mark.usefixtures("each_engine")
RECORDS = bytes(range(256)) * 16
MESSAGE = messages.ProduceRequest(
    acks=1, topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(records=RECORDS)])]
)
REGISTRY = messages.registry
BODY = MESSAGE.encode(9)
FRAME = REGISTRY.encode_request(MESSAGE, 9, correlation_id=1)
TOPIC = messages.TopicRecord(name="t" * 100)
RECORD = REGISTRY.encode_record(TOPIC, 0)
READERS: dict[str, tuple[bytes, Callable[[Any], object]]] = {
    "decode": (BODY, lambda data: messages.ProduceRequest.decode(data, 9, views=True)),
    "decode_from": (BODY, lambda data: messages.ProduceRequest.decode_from(data, 9, views=True)[0]),
    "lenient": (BODY, lambda data: messages.ProduceRequest.decode(data, 9, views=True, strict=False)),
    "decode_request": (FRAME, lambda data: REGISTRY.decode_request(data, views=True).message),
    "decode_record": (RECORD, lambda data: REGISTRY.decode_record(data, "cluster", views=True).message),
}


class Shrinking:
    """An object that returns the whole input on the first buffer request, and less on later requests."""

    def __init__(self, data: bytes, size: int) -> None:
        self.sizes = [len(data), size]
        self.data = data

    def __buffer__(self, flags: int) -> memoryview:
        size = self.sizes.pop(0) if len(self.sizes) > 1 else self.sizes[0]
        return memoryview(bytearray(self.data[:size]))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes can define __buffer__ since Python 3.12")
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("part", [0, 1, 2])
def test_a_second_buffer_that_is_shorter(reader: str, part: int) -> None:
    data, read = READERS[reader]
    with suppress(DecodeError):
        assert read(Shrinking(data, len(data) * part // 2)) == read(data)


@pytest.mark.parametrize("reader", READERS)
def test_bytearray_truncated_meanwhile(reader: str) -> None:
    """Truncate the input during decoding, at each Python call and return in turn, as another thread could."""
    data, read = READERS[reader]
    expected = read(data)
    for moment in range(1000):
        given, count = bytearray(data), 0

        def trim(*_: object, given: bytearray = given, moment: int = moment) -> None:
            nonlocal count
            count += 1
            if count == moment:
                with suppress(BufferError):
                    del given[20:]

        sys.setprofile(trim)
        try:
            found = read(given)
        except DecodeError:
            continue
        finally:
            sys.setprofile(None)
        assert found == expected
        if count < moment:
            break
    else:
        raise AssertionError("there are more moments")


@pytest.mark.parametrize("reader", READERS)
def test_decoded_values_keep_their_bytes(reader: str) -> None:
    data, read = READERS[reader]
    given = bytearray(data)
    message = read(given)
    if reader != "decode_record":  # decode_record returns no views
        with pytest.raises(BufferError):
            given.clear()
    assert message == read(data)


@pytest.mark.parametrize(
    "view",
    [
        lambda data: memoryview(data)[::-1][::-1],
        lambda data: memoryview(b"xx" + data)[2:],
        lambda data: memoryview(bytes(byte for pair in zip(data, data, strict=True) for byte in pair))[::2],
        lambda data: memoryview(data).cast("B", (len(data), 1)),
    ],
    ids=["turned twice", "behind others", "with gaps", "of two dimensions"],
)
def test_views_of_any_shape(view: Callable[[bytes], memoryview]) -> None:
    assert messages.ProduceRequest.decode(view(BODY), 9, views=True) == MESSAGE


def test_items_of_any_format() -> None:
    numpy = pytest.importorskip("numpy")
    data = BODY + bytes(-len(BODY) % 4)
    for given in (numpy.frombuffer(data, ">i4"), numpy.asfortranarray(numpy.frombuffer(data, "u1").reshape(2, -1))):
        message, _ = messages.ProduceRequest.decode_from(given, 9, views=True)
        assert isinstance(message, messages.ProduceRequest)
