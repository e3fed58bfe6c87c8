"""Check the golden bytes of every version of every message by encoding and decoding.

tests/support/golden_files.py describes where these bytes come from. Change them only by hand, with a reference.
"""

import json
from pathlib import Path

import pytest
from golden_files import FOLDER, Golden, read_file

import tagwire
import tagwire_messages as messages
from tagwire.explain.text import annotate, parse_annotated
from tagwire.sensitive import showing_sensitive
from tagwire_generator.model.spec_names import snake_case

NAMES = messages.registry.names()


def file_of(name: str) -> Path:
    return FOLDER / f"{snake_case(name)}.txt"


def test_every_message_has_a_file_and_every_file_a_message() -> None:
    assert {path.name for path in FOLDER.glob("*.txt")} == {file_of(name).name for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_golden_bytes(name: str) -> None:
    cls = messages.registry[name]
    goldens = list(read_file(file_of(name)))
    assert [golden.version for golden in goldens] == list(cls.VERSIONS), "one section a version, ascending"
    for golden in goldens:
        check(cls, golden)


def check(cls: type[tagwire.Message], golden: Golden) -> None:
    version, data = golden.version, parse_annotated(golden.annotation)
    message = cls.from_json(golden.value, version)
    assert message.encode(version) == data
    assert message.encoded_size(version) == len(data)
    decoded = cls.decode(data, version)
    assert decoded == message
    assert decoded.to_json(version) == golden.value
    with showing_sensitive():
        assert annotate(tagwire.trace(cls, data, version)) == golden.annotation
    for size in range(len(data)):
        with pytest.raises(tagwire.DecodeError) as rejected:
            cls.decode(data[:size], version)
        assert 0 <= rejected.value.offset <= size
    with pytest.raises(tagwire.DecodeError) as rejected:
        cls.decode(data + b"\x00", version)
    assert rejected.value.offset == len(data)


def test_changed_bytes_and_values_are_detected(tmp_path: Path) -> None:
    text = file_of("HeartbeatResponse").read_text(encoding="utf-8")
    golden = next(read_file(file_of("HeartbeatResponse")))
    first = parse_annotated(golden.annotation)[:2].hex(" ")
    assert first in text
    changed = tmp_path / "heartbeat_response.txt"
    changed.write_text(text.replace(first, "7e 7d", 1), encoding="utf-8")
    with pytest.raises(AssertionError):
        check(messages.HeartbeatResponse, next(read_file(changed)))
    value = golden.value | {"errorCode": golden.value["errorCode"] ^ 1}
    with pytest.raises(AssertionError):
        check(messages.HeartbeatResponse, Golden(golden.version, golden.source, value, golden.annotation))
    assert json.dumps(value) != json.dumps(golden.value)
