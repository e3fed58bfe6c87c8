"""Check messages in every way to encode and decode them: in both engines, by layout, and as JSON."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tagwire
from tagwire.interpreter.reader import decode
from tagwire.interpreter.writer import encode
from tagwire.limits import DEFAULT_LIMITS
from tagwire.message.engines import python_serializer
from tagwire.message.field_table import layout_of
from tagwire.testing import messages


def decoded(cls: Any, data: bytes, version: int) -> list[Any]:
    """Decode `data` with the engine in use, with generated Python code, and by layout. Return the three messages."""
    by_layout, _ = decode(layout_of(cls, version), data, whole=True, strict=True, limits=DEFAULT_LIMITS)
    return [cls.decode(data, version), python_serializer(cls, version).decode(data), by_layout]


def rejection(cls: Any, data: bytes, version: int) -> tagwire.DecodeError:
    """Check that both engines reject `data` with the same error, and return this error."""
    outcomes = [_outcome(lambda: cls.decode(data, version)), _outcome(lambda: _python_decoded(cls, data, version))]
    assert all(isinstance(each, tagwire.DecodeError) for each in outcomes), outcomes
    assert str(outcomes[0]) == str(outcomes[1])
    return outcomes[0]  # type: ignore[no-any-return]


def check_bytes(message: Any, version: int, data: bytes) -> None:
    """Check that `message` has these bytes. All their prefixes must be rejected, and so must an additional byte."""
    cls, python = type(message), python_serializer(type(message), version)
    assert message.encode(version).hex() == data.hex() == python.encode(message).hex()
    assert message.encoded_size(version) == len(data) == python.encoded_size(message)
    assert encode(layout_of(cls, version), message) == data
    assert decoded(cls, data, version) == [message] * 3
    assert python.read(data, data, 0) == (message, len(data)), "the straight-line code itself"
    for odd in (*(data[:size] for size in range(len(data))), data + b"\0"):
        rejection(cls, odd, version)


def check_json(message: Any, version: int, *styles: str) -> None:
    """Check that a message is read back from its JSON of these styles, or else of all styles."""
    for style in styles or ("lossless", "kafka"):
        form, text = message.to_json(version, style=style), message.to_json_text(version, style=style)
        assert json.loads(text) == form
        assert type(message).from_json(form, version) == message == type(message).from_json_text(text, version)


def check_drawn(cls: Any, version: int, examples: int = 30) -> None:
    """Check random messages. The engines must agree on their bytes, and on these bytes with one byte changed."""

    @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(messages(cls, version), st.data())
    def check(message: Any, random: st.DataObject) -> None:
        python, data = python_serializer(cls, version), message.encode(version)
        assert data == python.encode(message) == encode(layout_of(cls, version), message)
        assert message.encoded_size(version) == len(data)
        assert [each.encode(version) for each in decoded(cls, data, version)] == [data] * 3
        assert cls.from_json(message.to_json(version), version).encode(version) == data
        if data:
            at = random.draw(st.integers(0, len(data) - 1))
            broken = data[:at] + bytes([random.draw(st.integers(0, 255))]) + data[at + 1 :]
            one, other = _outcome(lambda: cls.decode(broken, version)), _outcome(lambda: python.decode(broken))
            assert repr(one) == repr(other)

    check()


def _python_decoded(cls: Any, data: bytes, version: int) -> Any:
    return python_serializer(cls, version).decode(data)


def _outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except tagwire.DecodeError as error:
        return error
