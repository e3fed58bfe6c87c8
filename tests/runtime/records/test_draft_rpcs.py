"""Produce and Fetch v3 as the drafts have them: the layout of v2, with records in the draft's own format."""

from types import ModuleType
from typing import Any

import pytest

import tagwire_messages as messages
from tagwire.layout import Array, Nested, StructLayout
from tagwire.message.field_table import layout_of
from tagwire.records import Record, build, read_batches
from tagwire_drafts import kip82_int, kip87

NAMES = ("ProduceRequest", "ProduceResponse", "FetchRequest", "FetchResponse")
DRAFTS = [pytest.param(kip82_int, "kip82-int", id="kip82-int"), pytest.param(kip87, "kip87", id="kip87")]


def wire(struct: StructLayout) -> list[Any]:
    found: list[Any] = []
    for item in struct.items:
        kind = item.type.element if isinstance(item.type, Array) else item.type
        found.append((item.name, str(item.type), wire(kind.struct) if isinstance(kind, Nested) else None))
    return found


@pytest.mark.parametrize(("draft", "format"), DRAFTS)
@pytest.mark.parametrize("name", NAMES)
def test_the_layout_is_that_of_v2(name: str, draft: ModuleType, format: str) -> None:
    cls, released = draft.registry[name], messages.registry[name]
    assert wire(layout_of(cls, 3).root) == wire(layout_of(released, 2).root)
    assert str(cls.VERSIONS) == "3" and cls.header_version(3) == (1 if name.endswith("Request") else 0)


# API key 0, version 3, correlation id 7, client id "c"; acks -1, timeout 1000, one topic "t", one partition 0; the
# records are one message: offset 0, size 22 = 16 (crc 4, magic, attributes, timestamp 8, key null 4, value null 4)
HEAD = "0000 0003 00000007 0001 63  ffff 000003e8 00000001 0001 74 00000001 00000000"


@pytest.mark.parametrize(("draft", "format"), DRAFTS)
def test_a_request_carries_its_format(draft: ModuleType, format: str) -> None:
    batch = build([Record(0, 300, b"k", b"v")], format)
    data = bytes.fromhex(HEAD) + batch.size.to_bytes(4, "big") + batch.encode()
    frame = draft.registry.decode_request(data)
    assert frame.version == 3 and frame.message.timeout_ms == 1000
    [topic] = frame.message.topic_data
    [partition] = topic.partition_data
    assert [list(each) for each in read_batches(partition.records, format)] == [list(batch)]
    assert draft.registry.encode_request(frame.message, 3, header=frame.header) == data
