"""A listing of the frames in a capture. The classes in `frame_files` read the capture."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Final

from tagwire.errors import TagwireError
from tagwire.frames.frame_headers import Frame
from tagwire.frames.message_index import UnknownMessageError
from tagwire.message import Message
from tagwire.records import RecordBatch
from tagwire.records.message_records import decode_records, has_records_field
from tagwire.sensitive import hides
from tagwire.text_format import printable
from tagwire_cli.explaining.input import InputFrame
from tagwire_cli.explaining.units import ExplainSettings, explain_captured
from tagwire_cli.input.filters import FilterError, Term, api_keys, api_stem, number_test
from tagwire_workbench.browsing.frame_files import FrameFile
from tagwire_workbench.browsing.frame_table import DAMAGED, NONE, REQUEST, FrameTable
from tagwire_workbench.browsing.listing import ExplainedEntry, ListColumn, Listing, Test, searched_bytes_of

_DIRECTIONS: Final = {"req": 0, "request": 0, "resp": 1, "response": 1}
_WORDS: Final = ("req", "resp", "!")


class FrameListing(Listing):
    """Lists frames with API, version, direction, correlation ID, connection and client."""

    noun = "frame"
    columns = (
        ListColumn("#", 6, is_right=True),
        ListColumn("dir", 4),
        ListColumn("API", 21),
        ListColumn("v", 2, is_right=True),
        ListColumn("id", 7, is_right=True),
        ListColumn("bytes", 8, is_right=True),
        ListColumn("client", 10),
        ListColumn("connection", 0),
    )
    keys = ("api", "version", "dir", "id", "conn", "client", "is")

    def __init__(self, file: FrameFile, table: FrameTable, settings: ExplainSettings) -> None:
        super().__init__()
        self.file = file
        self.table = table
        self.settings = settings
        self._titles: dict[int, str] = {}

    def read(self) -> Iterator[bool]:
        for found in self.file.read(self.table):
            rows = len(self.table)
            self.states += bytes(rows - len(self.states))
            self.count = rows
            yield found
        self.error = self.file.error

    @property
    def progress(self) -> float:
        return self.file.progress

    def number(self, entry: int) -> int:
        return self.table.numbers[entry]

    def entry_of(self, number: int) -> int | None:
        entry = bisect_left(self.table.numbers, number, 0, self.count)
        return entry if entry < self.count else None

    def partner(self, entry: int) -> int | None:
        found = self.table.partners[entry]
        return found if 0 <= found < self.count else None

    def neighbors(self, entry: int) -> dict[str, str]:
        table = self.table
        if table.kinds[entry] == DAMAGED:
            return {}
        connection = table.connection_names.names[table.connections[entry]]
        key = table.keys[entry]
        return {"conn": connection} if key == NONE else {"api": self._title(key) or str(key), "conn": connection}

    def cells(self, entry: int) -> Sequence[str]:
        table = self.table
        kind = table.kinds[entry]
        if kind == DAMAGED:
            return (str(table.numbers[entry]), _WORDS[kind], "not a frame", "", "", "", "", "")
        key, version = table.keys[entry], table.versions[entry]
        title, version_text = ("?", "") if key == NONE else (self._title(key) or f"API {key}", str(version))
        client, connection = table.clients[entry], table.connections[entry]
        return (
            str(table.numbers[entry]),
            _WORDS[kind],
            title,
            version_text,
            str(table.ids[entry]) if table.has_ids else "",
            str(table.sizes[entry]),
            printable(table.client_names.names[client]),
            printable(table.connection_names.names[connection]),
        )

    def _title(self, key: int) -> str:
        """Return an API's name, or "" if the package doesn't have the API."""
        found = self._titles.get(key)
        if found is None:
            found = ""
            for kind in ("request", "response"):
                with suppress(UnknownMessageError):
                    found = api_stem(self.settings.registry.find(kind, key).NAME)
                    break
            self._titles[key] = found
        return found

    def _frame(self, entry: int) -> InputFrame:
        """Return a frame, or the error of a gap. A response gets its request's API key and version, if known."""
        number, key, version = self.table.numbers[entry], self.table.keys[entry], self.table.versions[entry]
        if error := self.table.gaps.get(entry):
            return InputFrame(number, f"frame {number}", b"", error=error)
        frame = self.file.frame(self.table, entry)
        return frame._replace(api=(key, version)) if frame.is_request is False and key != NONE else frame

    def explain(self, entry: int) -> ExplainedEntry:
        frame = self._frame(entry)
        return ExplainedEntry(frame.data, explain_captured(self.settings, frame))

    def error_of(self, entry: int) -> str:
        """Return the error that `tagwire explain` would show, or "". A response to an unknown request has no error."""
        table, settings = self.table, self.settings
        frame = self._frame(entry)
        if frame.error:
            return frame.error
        if table.kinds[entry] != REQUEST and table.keys[entry] == NONE:
            return ""
        message = self._message(entry)
        has_records = message is not None and self._opens_records(message)
        try:
            found = self._decoded(entry, frame.data)
            for batch in self._batches(found) if has_records else ():
                for _ in batch:
                    pass
        except TagwireError as error:
            return explain_captured(settings, frame).failure if has_records else str(error)
        return ""

    def _decoded(self, entry: int, data: bytes) -> Frame[Any, Any]:
        table, settings = self.table, self.settings
        if table.kinds[entry] == REQUEST:
            return settings.registry.decode_request(data, strict=settings.strict, limits=settings.limits)
        api = table.keys[entry], table.versions[entry]
        return settings.registry.decode_response(data, *api, strict=settings.strict, limits=settings.limits)

    def _batches(self, found: Frame[Any, Any]) -> Iterator[RecordBatch]:
        """Yield the record batches of a message. Tracing all of them would be too slow."""
        settings = self.settings
        for records in decode_records(found.message, found.version, format=settings.records, limits=settings.limits):
            yield from records

    def _opens_records(self, message: type[Message]) -> bool:
        return self.settings.opens_records and _has_records_field(message)  # type: ignore[arg-type]  # classes are hashable

    def test_of(self, term: Term) -> Test:
        table = self.table
        if term.key == "is":
            if term.value != "error":
                raise FilterError(f"is={term.value}: expected 'error'")
            return self.has_error
        if term.key == "api":
            keys = api_keys(self.settings.registry, term)
            return lambda entry: table.keys[entry] in keys
        if term.key == "dir":
            kinds = {_direction(term, value) for value in term.values}
            return lambda entry: table.kinds[entry] in kinds
        if term.key == "version":
            fits = number_test(term)
            return lambda entry: table.keys[entry] != NONE and fits(table.versions[entry])
        if term.key == "id":
            fits = number_test(term)
            return lambda entry: table.has_ids and table.kinds[entry] != DAMAGED and fits(table.ids[entry])
        # Commas separate names, but a name may also contain commas, so compare the whole value as well.
        values = [value.casefold() for value in (term.value, *term.values)]
        if term.key == "conn":
            return lambda entry: _is_in(values, table.connection_names.names, table.connections[entry], whole=True)
        return lambda entry: _is_in(values, table.client_names.names, table.clients[entry])

    def searched_bytes(self, entry: int) -> Iterator[bytes]:
        """Yield the bytes that a text filter searches: row, frame, and decompressed records, without secrets."""
        yield " ".join(self.cells(entry)).encode("utf-8", "backslashreplace")
        if self.table.kinds[entry] == DAMAGED:
            return
        frame = self._frame(entry)
        message = self._message(entry)
        is_secret = message is not None and hides() and _has_secrets(message)  # type: ignore[arg-type]  # classes are hashable
        if message is None or not (is_secret or self._opens_records(message)):
            yield frame.data
            return
        decompressed = None if is_secret else self._decompressed(entry, frame.data)
        if decompressed is not None:
            yield frame.data
            yield from decompressed
            return
        yield from searched_bytes_of(ExplainedEntry(frame.data, explain_captured(self.settings, frame)))

    def _decompressed(self, entry: int, data: bytes) -> list[bytes] | None:
        """Return the decompressed records of a frame's compressed batches.

        Returns None if a compressed batch has format v0 or v1, or if decoding fails.
        """
        found = []
        try:
            for batch in self._batches(self._decoded(entry, data)):
                if batch.codec == "none":
                    continue
                if batch.record_format.records is None:  # a wrapper message (v0, v1)
                    return None
                found.append(bytes(batch.walk().data))
        except TagwireError:
            return None
        return found

    def _message(self, entry: int) -> type[Message] | None:
        kind = "request" if self.table.kinds[entry] == REQUEST else "response"
        try:
            return self.settings.registry.find(kind, self.table.keys[entry])
        except UnknownMessageError:
            return None

    def close(self) -> None:
        self.file.close()


_has_records_field = cache(has_records_field)  # called for each frame


@cache
def _has_secrets(message: type[Message]) -> bool:
    from tagwire.message.field_table import layout_of

    return any(layout_of(message, version).root.has_sensitive for version in message.VERSIONS)


def _is_in(values: list[str], names: list[str], number: int, *, whole: bool = False) -> bool:
    text = names[number].casefold() if number != NONE else ""
    return text in values if whole else any(value in text for value in values)


def _direction(term: Term, value: str) -> int:
    found = _DIRECTIONS.get(value.casefold())
    if found is None:
        raise FilterError(f"{term.key}={value}: expected 'request' or 'response'")
    return found
