"""A listing of the batches in log segments. It is made from batch headers; records are read when a batch is shown."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from tagwire.errors import TagwireError
from tagwire.frames.known_packages import header_key_name
from tagwire.limits import Limits
from tagwire.log import LogError, Segment
from tagwire.log.errors import LogPathError
from tagwire.log.file_bytes import open_file
from tagwire.log.names import partition_name
from tagwire.log.scan import Scan
from tagwire.records import FormatSet, RecordBatch
from tagwire.records.opening import trace_batches
from tagwire.text_format import printable
from tagwire_cli.explaining.explained import Explained
from tagwire_cli.input.filters import FilterError, Term, ranges_of
from tagwire_workbench.browsing.listing import INVALID, ExplainedEntry, ListColumn, Listing, Test

_AT_ONCE: Final = 1000
_REST: Final = 1 << 20
"""Maximum number of bytes to show after the last valid batch of a file."""


class BatchListing(Listing):
    """Lists the batches of a log, with partition, offsets, number of records, size, format and time."""

    noun = "batch"
    columns = (
        ListColumn("#", 6, is_right=True),
        ListColumn("partition", 12),
        ListColumn("offsets", 14, is_right=True),
        ListColumn("records", 7, is_right=True),
        ListColumn("bytes", 8, is_right=True),
        ListColumn("format", 8),
        ListColumn("time", 0),
    )
    keys = ("partition", "offset", "codec", "is")

    def __init__(
        self, find: Callable[[], Sequence[Segment]], formats: FormatSet, limits: Limits, *, follows: bool
    ) -> None:
        """Create a listing. `find` returns the current segments, and is called again to find new ones."""
        super().__init__()
        self.formats = formats
        self.limits = limits
        self._find = find
        self._follows = follows
        self._segments: list[Segment] = []
        self._next: list[int | None] = []
        """Start of the next batch in each segment, or None if no batch can follow."""
        self._seen: list[tuple[int, int]] = []
        """Size and modification time of each segment when it was last read."""
        self._files = array("i")
        self._starts = array("q")
        self._sizes = array("q")
        self._ends = array("q")
        """The last offset of each entry, or -1 for bytes that are not a batch."""
        self._done = 0
        self._total = 1
        self._fields = lru_cache(maxsize=1000)(self._read_cells)

    @property
    def progress(self) -> float:
        return self._done / self._total

    def read(self) -> Iterator[bool]:
        while True:
            try:
                self._find_new()
                for number in range(len(self._segments)):
                    yield from self._read_on(number)
            except LogPathError as error:
                self.error = str(error)
                return
            if not self._follows:
                return
            yield False

    def _find_new(self) -> None:
        known = {each.path for each in self._segments}
        for segment in self._find():
            if segment.path not in known:
                self._segments.append(segment)
                self._next.append(0)
                self._seen.append((-1, -1))
        self._total = max(sum(each.size for each in self._segments), 1)

    def _read_on(self, number: int) -> Iterator[bool]:
        """Read the batches appended since the last call, in slices."""
        segment, position = self._segments[number], self._next[number]
        status = segment.status()
        seen = status.st_size, status.st_mtime_ns
        if position is None or seen == self._seen[number]:
            return
        self._seen[number] = seen
        with open_file(segment.path) as data:
            scan = Scan(str(segment.path), data, self.formats, self.limits)
            try:
                while not scan.ends_at(position):
                    span = scan.span(position)
                    self._add(number, position, span.size, span.last_offset)
                    position = self._next[number] = position + span.size
                    if not self.count % _AT_ONCE:
                        yield True
            except LogError as error:
                # The last batch of a growing log may be incomplete.
                if not (self._follows and scan.was_unfinished(error, position, -1)):
                    self._add(number, position, segment.size - position, -1)
                    self.states[-1] = INVALID  # no batch begins here, so one entry stands for the rest of the segment
                    self._next[number] = None
        yield True

    def _add(self, file: int, start: int, size: int, end: int) -> None:
        self._files.append(file)
        self._starts.append(start)
        self._sizes.append(size)
        self._ends.append(end)
        self.states.append(0)
        self._done += size
        self.count += 1

    def cells(self, entry: int) -> Sequence[str]:
        return (str(entry + 1), self._partition(entry), *self._fields(entry))

    def _partition(self, entry: int) -> str:
        """Return the name of the entry's partition, or the file name if the file isn't in a partition folder."""
        path = self._segments[self._files[entry]].path.absolute()
        return printable(path.parent.name if partition_name(path.parent) else path.name)

    def _read_cells(self, entry: int) -> tuple[str, ...]:
        size = str(self._sizes[entry])
        try:
            batch = self._batch(entry, outline=True)
        except TagwireError:
            return ("not a batch", "", size, "", "")
        codec = "" if batch.codec == "none" else f" {batch.codec}"
        number = "" if batch.count is None else str(batch.count)
        offsets = f"{batch.base_offset}-{batch.last_offset}"
        return (offsets, number, size, f"{batch.format}{codec}", _time(batch.max_timestamp))

    def _batch(self, entry: int, *, outline: bool = False) -> RecordBatch:
        """Read an entry's batch or, with `outline`, only the batch header."""
        path = self._segments[self._files[entry]].path
        with open_file(path) as data:
            scan = Scan(str(path), data, self.formats, self.limits)
            return scan.outline(self._starts[entry]) if outline else scan.batch(self._starts[entry])

    def explain(self, entry: int) -> ExplainedEntry:
        path, start = self._segments[self._files[entry]].path, self._starts[entry]
        size = self._sizes[entry] if self._ends[entry] >= 0 else min(self._sizes[entry], _REST)
        title = f"{path} at byte {start}"
        data = b""
        try:
            with open_file(path) as file:
                data = file[start : start + size]
            seen = next(trace_batches(data, self.formats, limits=self.limits))
        except TagwireError as error:
            return ExplainedEntry(data, Explained(title, (), error=str(error)))
        return ExplainedEntry(data, Explained(title, (seen,)))

    def error_of(self, entry: int) -> str:
        try:
            list(self._batch(entry))
        except TagwireError as error:
            return str(error)
        return ""

    def test_of(self, term: Term) -> Test:
        if term.key == "is":
            return self._property(term)
        if term.key == "offset":
            return self._offset_test(term)
        values = [value.casefold() for value in term.values]
        if term.key == "partition":
            return lambda entry: self._partition(entry).casefold() in values
        return lambda entry: (self._fields(entry)[3].partition(" ")[2] or "none") in values

    def _property(self, term: Term) -> Test:
        names = {"control": "is_control", "transactional": "is_transactional"}
        if term.value == "error":
            return self.has_error
        if term.value not in names:
            raise FilterError(f"is={term.value}: expected one of error, {', '.join(names)}")

        def test(entry: int) -> bool:
            try:
                return bool(getattr(self._batch(entry, outline=True), names[term.value]))
            except TagwireError:
                return False

        return test

    def _offset_test(self, term: Term) -> Test:
        ranges = ranges_of(term)

        def test(entry: int) -> bool:
            if self._ends[entry] < 0:
                return False
            text = self._fields(entry)[0].partition("-")[0]
            first = int(text) if text.isdigit() else self._ends[entry]
            return any(low <= self._ends[entry] and (high is None or first <= high) for low, high in ranges)

        return test

    def searched_bytes(self, entry: int) -> Iterator[bytes]:
        yield " ".join(self.cells(entry)).encode("utf-8", "backslashreplace")
        try:
            for record in self._batch(entry):
                yield record.key or b""
                yield record.value or b""
                for key, value in record.headers:
                    yield header_key_name(key).encode("utf-8", "backslashreplace")
                    yield value or b""
        except TagwireError:
            return

    def neighbors(self, entry: int) -> dict[str, str]:
        return {"partition": self._partition(entry)}


def _time(milliseconds: int) -> str:
    try:
        when = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return str(milliseconds)
    return "" if milliseconds < 0 else f"{when:%Y-%m-%d %H:%M}"
