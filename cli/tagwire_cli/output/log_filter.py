"""Option types for `tagwire log dump` (times and line templates), and the filter for records."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import click

from tagwire.frames.known_packages import header_key_name
from tagwire.records import Record, RecordBatch
from tagwire.text_format import suggestion

TEMPLATE_NAMES: Final = ("file", "topic", "partition", "offset", "timestamp", "key", "value", "headers", "attributes")
_NAME: Final = re.compile(r"\{(\w*)\}|\\([tn\\])")
_ESCAPES: Final = {"t": "\t", "n": "\n", "\\": "\\"}


class Time(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.3 on
    """A click parameter type for a time: milliseconds since 1970, or ISO 8601. Without a time zone, it is UTC."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            if isinstance(value, int) or value.lstrip("-").isdecimal():
                return int(value)
            time = datetime.fromisoformat(value)
        except ValueError:
            self.fail(
                f"expected milliseconds since 1970, or a time such as 2026-01-31T12:00:00Z, got {value!r}", param, ctx
            )
        return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


class Template(click.ParamType):  # type: ignore[type-arg]
    """A parameter type for a line template with {names}. \\t, \\n and \\\\ are a tab, a line break and a backslash."""

    name = "template"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if callable(value):
            return value
        for found in _NAME.finditer(value):
            if found[1] is not None and found[1] not in TEMPLATE_NAMES:
                hint = suggestion(found[1], TEMPLATE_NAMES, f"give one of {', '.join(TEMPLATE_NAMES)}")
                self.fail(f"unknown placeholder {{{found[1]}}}; {hint}", param, ctx)

        def line(values: Mapping[str, str]) -> str:
            return _NAME.sub(lambda found: _ESCAPES[found[2]] if found[2] else values[found[1]], value)

        return line


@dataclass
class RecordFilter:
    """The conditions that a record must meet to be printed. A condition that is None does not apply."""

    start_offset: int | None = None
    end_offset: int | None = None
    """Only records with lower offsets are printed. In the same way, `end_time` is not included."""
    start_time: int | None = None
    end_time: int | None = None
    key: str | None = None
    header: str | None = None
    """The header that a record must have, as NAME or NAME=VALUE."""
    left: int | None = None
    """How many more records to print."""

    def of(self, batch: RecordBatch, begin: int | None) -> Callable[[Record], bool] | None:
        """Return a function that tests whether to print a record of this batch; None to print all of them."""
        others = (self.end_offset, self.start_time, self.end_time, self.key, self.header, self.left)
        if any(each is not None for each in others) or (begin is not None and batch.base_offset < begin):
            return lambda record: self._keeps(record, begin)
        return None

    def ends_before(self, batch: RecordBatch) -> bool:
        """Return whether printing can stop, because neither this nor any later batch has records to print."""
        return self.left == 0 or (self.end_offset is not None and batch.base_offset >= self.end_offset)

    def _keeps(self, record: Record, begin: int | None) -> bool:
        keeps = (
            self.left != 0
            and (begin is None or record.offset >= begin)
            and (self.end_offset is None or record.offset < self.end_offset)
            and (self.start_time is None or record.timestamp >= self.start_time)
            and (self.end_time is None or record.timestamp < self.end_time)
            and (self.key is None or record.key == self.key.encode())
            and (self.header is None or self._has_header(record, self.header))
        )
        if keeps and self.left is not None:
            self.left -= 1
        return keeps

    @staticmethod
    def _has_header(record: Record, header: str) -> bool:
        name, equals, value = header.partition("=")
        found = [content for key, content in record.headers if header_key_name(key) == name]
        return value.encode() in found if equals else bool(found)
