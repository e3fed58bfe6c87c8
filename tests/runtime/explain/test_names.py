from typing import Any

import pytest

import tagwire_messages as messages
from tagwire.explain.names import name_note, put_names, registers_by_field
from tagwire.explain.text import annotate
from tagwire.explain.trace import trace, trace_request
from tagwire.frames.known_packages import header_key_name
from tagwire.records import Record, build
from tagwire.records.opening import trace_batches
from tagwire.wire.types import WIRE_TYPES
from tagwire_drafts import kip82_int

NOTE = name_note(messages.registry)


def test_the_numbers_of_an_acl_have_names() -> None:
    request = messages.DescribeAclsRequest(
        resource_type_filter=2, pattern_type_filter=3, operation=3, permission_type=99
    )
    # Each byte is a field: resource type TOPIC, no resource name, pattern type LITERAL, no principal, no host,
    # operation READ, an undefined permission type, and no tagged fields.
    data = bytes.fromhex("02 01 03 01 01 03 63 00")
    assert request.encode(3) == data
    text = annotate(trace(messages.DescribeAclsRequest, data, 3), NOTE)
    expected = [["2", "TOPIC"], ["3", "LITERAL"], ["3", "READ"], ["int8", "99"]]
    assert [line.split()[-2:] for line in text.splitlines() if " int8 " in line] == expected


def test_attributes_and_json_stay_numbers() -> None:
    request = messages.DescribeAclsRequest.decode(bytes.fromhex("02 01 03 01 01 03 63 00"), 3)
    assert type(request.operation) is int and request.operation == messages.AclOperation.READ
    assert request.to_json(3)["operation"] == 3


def acls(operation: int) -> messages.DescribeAclsRequest:
    return messages.DescribeAclsRequest(operation=operation)


@pytest.mark.parametrize(("message", "expected"), [
    (acls(3), {"operation": "READ"}),
    (acls(0), {"operation": "UNKNOWN"}),
    (acls(99), {"operation": 99}),
    (messages.HeartbeatResponse(throttle_time_ms=3, error_code=27), {"throttleTimeMs": 3, "errorCode": 27}),
])  # fmt: skip
def test_names_of_enums_replace_numbers_in_json(message: Any, expected: dict[str, Any]) -> None:
    obj = message.to_json(3)
    put_names(obj, type(message), registers_by_field(messages.registry), message.NAME)
    assert {key: obj[key] for key in expected} == expected


def test_a_header_before_the_message_does_not_matter() -> None:
    # The header has API key 29 (DescribeAcls), version 3, correlation ID 7, client ID "a", and no tagged fields.
    frame = bytes.fromhex("001d 0003 00000007 0001 61 00  02 01 03 01 01 03 03 00")
    text = annotate(trace_request(messages.registry, frame), NOTE)
    assert "3 READ" in text and "2 TOPIC" in text and "3 ALLOW" in text


def test_error_codes_of_all_messages() -> None:
    data = messages.HeartbeatResponse(error_code=25).encode(4)
    assert "25 UNKNOWN_MEMBER_ID" in annotate(trace(messages.HeartbeatResponse, data, 4), NOTE)


@pytest.mark.parametrize("format", ["kip82-int", "kip82-int-signed", "kip82-int+kip87"])
def test_names_of_numeric_header_keys(format: str) -> None:
    batch = build([Record(0, 1000, b"k", b"v", [(1, b"a"), (2100001, b"b"), (2100009, b"c")])], format).encode()
    [traced] = trace_batches(batch, format)
    keys = [line.split()[-2:] for line in annotate(traced, NOTE).splitlines() if "].key" in line]
    assert keys == [["1", "client.id"], ["2100001", "new.relic"], ["int32", "2100009"]]
    assert [header_key_name(key) for key in (1, "1", 2100001, -1)] == ["client.id", "1", "new.relic", "-1"]


def test_a_register_names_a_record_format_by_its_spec() -> None:
    note = name_note(kip82_int.registry)
    batch = build([Record(0, 1000, b"k", b"v", [(3, b"a")])], "kip82-int").encode()
    assert "3 correlation.id" in annotate(trace(kip82_int.MessageKip82Int.layout(), batch), note)


REGISTERS = [messages.registry.attribute(name) for name in messages.registry.registers]


@pytest.mark.parametrize("register", REGISTERS, ids=lambda register: str(register.__name__))
def test_the_fields_that_a_register_names_exist_and_hold_its_numbers(register: Any) -> None:
    assert register.named_fields()
    for path in register.named_fields():
        name, *steps = path.split(".")
        if name == "*":
            continue
        cls: Any = messages.registry[name]
        type_name = ""
        for step in steps:
            row = next(row for row in cls.FIELDS if row.name == step)
            cls, type_name = row.struct, row.type
        wire = WIRE_TYPES[type_name.removeprefix("[]")]
        assert all(wire.low <= int(member) <= wire.high for member in register), path


def test_no_field_has_two_registers() -> None:
    paths = [path for register in REGISTERS for path in register.named_fields()]
    assert len(paths) == len(set(paths))
