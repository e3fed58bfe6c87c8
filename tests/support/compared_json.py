"""Check that the native engine and Python convert a message to and from the same JSON, in both JSON styles.

The JSON is compared as values and as text. Errors must have equal messages.
"""

from collections.abc import Callable
from typing import Any, Final

import pytest
from damage import Sample

from tagwire import Message

_INDENTS: Final = (None, 2)


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _differs(what: str, call: Callable[[], Any]) -> str | None:
    found = {}
    for name in ("native", "python"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TAGWIRE_ENGINE", name)
            found[name] = outcome(call)
    # Compare strings, because 1 == True and NaN != NaN.
    if repr(found["native"]) == repr(found["python"]):
        return None
    return f"{what}: native {found['native']!r:.300}, Python {found['python']!r:.300}"


def json_differs(sample: Sample, message: Any) -> str | None:
    """Describe how the JSON of a message differs between the engines, or return None."""
    cls, version = sample.cls, sample.version
    for style in ("lossless", "kafka"):
        difference = _differs(f"to_json {style}", lambda: message.to_json(version, style=style))  # noqa: B023
        for indent in _INDENTS:
            difference = difference or _differs(
                f"to_json_text {style} {indent}",
                lambda: message.to_json_text(version, style=style, indent=indent),  # noqa: B023
            )
        converted = None if difference else outcome(lambda: message.to_json(version, style=style))  # noqa: B023
        if isinstance(converted, dict):
            text, obj = message.to_json_text(version, style=style), converted
            difference = _differs(f"from_json {style}", lambda: _shown(cls.from_json(obj, version)))  # noqa: B023
            difference = difference or text_differs(sample, text)
        if difference:
            return difference
    return None


def text_differs(sample: Sample, text: str | bytes) -> str | None:
    """Read a JSON text with each engine. Describe how the messages or errors differ, or return None."""
    return _differs("from_json_text", lambda: _shown(sample.cls.from_json_text(text, sample.version)))


def _shown(message: Message) -> Any:
    """Return the fields that are required or not at their default, and the unknown tags. Secrets are not hidden."""
    return message._changed(), message.unknown_tags
