from collections.abc import Callable
from typing import Any

import pytest

import tagwire_messages as messages
from tagwire import DecodeError, EncodeError
from tagwire.records import BatchBuilder, ProducerRecord, Record
from tagwire.records.headers import Headers

NONE: dict[str, list[Any]] = {"headers": [5, None], "headers[0]": [[5], [("a",)], [("a", b"", 1)], "ab", {"a"}]}
TAKERS: list[Callable[[Any], object]] = [
    lambda headers: Record(0, 0, b"", b"", headers),
    lambda headers: BatchBuilder("v2").append(b"k", b"v", headers=headers),
    lambda headers: ProducerRecord("topic", headers=headers),
    Headers.of,
]


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize(("path", "headers"), [(path, each) for path, found in NONE.items() for each in found])
def test_headers_that_are_not_pairs(taker: Callable[[Any], object], path: str, headers: Any) -> None:
    with pytest.raises(EncodeError, match=r"expected \(key, value\) pairs") as caught:
        taker(headers)
    assert caught.value.path == path


@pytest.mark.parametrize("data", [b"\x82\0\x02k\x02v", b"\x02\x02k\x02v\0", b"\x02\x02\xff\x02v"])
def test_bytes_of_headers_are_read_strictly(data: bytes) -> None:
    with pytest.raises(DecodeError, match=r"^headers of v2: "):
        list(Headers(data, "v2"))


@pytest.mark.parametrize("message", [None, "x", 5, b"", object()])
def test_objects_that_are_not_messages_are_rejected(message: Any) -> None:
    for encode in (messages.registry.encode_request, messages.registry.encode_response):
        with pytest.raises(EncodeError, match=r"expected a re.*, got"):
            encode(message, 4)
