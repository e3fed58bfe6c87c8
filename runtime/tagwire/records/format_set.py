"""The set of record formats that a reader accepts, by magic byte.

A log can contain several formats, even within one file. Each batch's magic byte identifies its format. By default, v0,
v1 and v2 have the bytes 0, 1 and 2. A KIP's format replaces the format with the same magic byte.

Most formats have the magic byte at the same position. In the draft of v3, a length of varying size precedes the magic
byte, so each possible position must be tried. If bytes fit two formats, the checksums decide.
"""

import re
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from tagwire.errors import TagwireError
from tagwire.frames.known_packages import RECORD_FORMATS, record_format
from tagwire.layout import Layout
from tagwire.limits import DEFAULT_LIMITS
from tagwire.message.record_format import RecordFormat
from tagwire.records.format import Format
from tagwire.text_format import near, shown

if TYPE_CHECKING:
    from tagwire._engine import BatchReader, Magic2
    from tagwire.records.native import Plans

AUTO: Final = "auto"
_OF_AUTO: Final = ("v3",)
RELEASED: Final = ("v0", "v1", "v2")
"""The formats of Kafka's releases, indexed by magic byte."""
MAGIC_AT: Final = 16
"""The position of the magic byte in v0, v1, v2 and most proposals."""


class FormatSet:
    """The formats that a log may contain, at most one for each magic byte.

    Each of `named` is the name, class or layout of a format. v0, v1 and v2 are added unless a named format has their
    magic byte, or `only` is true. With `strict=False`, records are read as Kafka's own reader reads them. Raises
    FormatError for unknown names, for two formats with the same magic byte, and for `only` without a name.
    """

    def __init__(
        self, *named: "str | Format | type[RecordFormat] | Layout", only: bool = False, strict: bool = True
    ) -> None:
        if only and not named:
            raise FormatError("only=True requires a specific format, got none")
        self.named = tuple(format_of(each) for each in named)
        self.only = only
        self.strict = strict
        by_magic: dict[int, Format] = {}
        for each in self.named:
            if len(named) > 1 and not _is_findable(each):
                raise FormatError(
                    f"{each.name} has no magic byte that distinguishes it from other formats; "
                    "pass it as the only format"
                )
            if each.magic in by_magic:
                raise FormatError(
                    f"{by_magic[each.magic].name} and {each.name} both have magic {each.magic}, so a reader can't "
                    "distinguish them; pass only one of them"
                )
            by_magic[each.magic] = each
        if not only and all(map(_is_findable, self.named)):
            for name in RELEASED:
                by_magic.setdefault(RELEASED.index(name), format_of(name))
        self.formats = tuple(by_magic[magic] for magic in sorted(by_magic))
        """All formats, by ascending magic byte."""
        self.alone = self.formats[0] if len(self.formats) == 1 else None
        """The format of every batch, or None if there are several."""
        self.by_magic = {each.magic: each for each in self.formats if each.header_positions.magic_at == MAGIC_AT}
        """The formats with their magic byte at the usual position."""
        self.tried = tuple(each for each in self.formats if each.header_positions.magic_at != MAGIC_AT)
        """The formats with their magic byte at another position."""

    @property
    def name(self) -> str:
        """The set as a user would write it: format names separated by commas, or `auto`."""
        names = tuple(each.name for each in self.named)
        return AUTO if names == _OF_AUTO and not self.only else ",".join(names)

    def candidates(self, header: bytes, pos: int, left: int | None = None) -> list[Format]:
        """Return the formats that the batch at `pos` may have, according to its magic byte.

        Several may match, because not all formats have the magic byte at the usual position (`MAGIC_AT`). A format with
        another position is left out if its batch would be longer than the data. If that leaves no format, all are
        returned. `left` is the number of bytes from `pos` to the end of the data; None if `header` contains all data.
        """
        if self.alone is not None:
            return [self.alone]
        found = self.claims(header, pos)
        rest = len(header) - pos if left is None else left
        if len(found) < 2 and (not found or found[0].header_positions.magic_at == MAGIC_AT):
            return found
        return [
            each
            for each in found
            if each not in self.tried or 0 < each.header_positions.sound_size(header, pos) <= rest
        ] or found

    def claims(self, header: bytes, pos: int) -> list[Format]:
        """Return the formats whose magic byte matches the batch at `pos`. The batch length is not checked."""
        found = []
        if len(header) - pos > MAGIC_AT and (usual := self.by_magic.get(header[pos + MAGIC_AT])) is not None:
            found.append(usual)
        for each in self.tried:
            if each.header_positions.has_magic(header, pos):
                found.append(each)
        return found

    def is_cut(self, buf: bytes, pos: int) -> bool:
        """Return whether the batch at `pos` is truncated, possibly even within its length field."""
        found = [self.alone] if self.alone is not None else self.claims(buf, pos)
        if not found:
            return len(buf) - pos <= MAGIC_AT
        sizes = [each.header_positions.size(buf, pos) for each in found if each.header_positions.length_code]
        return bool(sizes) and all(size is None or size > len(buf) - pos for size in sizes)

    def nearest(self, buf: bytes, pos: int) -> Format:
        """Return the format to name in an error. If possible, it has the same magic byte as the batch."""
        found = self.alone or next(iter(self.claims(buf, pos)), None)
        return found or self.by_magic.get(max(self.by_magic, default=-1)) or self.formats[-1]

    @cached_property
    def native_reader(self) -> "BatchReader | None":
        """The native reader of v2 batches. It can enforce only the default limits.

        None if the set is lenient, if it does not contain magic 2, or if the native engine can't distinguish magic 2
        from the other formats in the set.
        """
        return self.native_reader_with(lambda plans: plans.quick)

    def native_reader_with(self, functions: "Callable[[Plans], Magic2 | None]") -> "BatchReader | None":
        """Like `native_reader`, but the reader calls the native functions that `functions(plans)` returns."""
        usual = self.alone or self.by_magic.get(2)
        quick = None if usual is None or not self.strict else functions(usual.plans)
        tried = [] if self.alone is not None else [each.header_positions for each in self.tried]
        positions: list[Any] = [(each.length_at, each.magic_after_length, each.magic) for each in tried] or [(-1, 0, 0)]
        if quick is None or len(positions) > 1 or None in positions[0]:
            return None
        from tagwire._engine import BatchReader
        from tagwire.records.reading import batch_at

        return BatchReader(quick, lambda buf, pos: batch_at(buf, pos, self, DEFAULT_LIMITS), *positions[0])

    @cached_property
    def magics(self) -> str:
        """The magic bytes as text, such as `0, 1, 2 or 3`."""
        *first, last = [str(each.magic) for each in self.formats]
        return f"{', '.join(first)} or {last}" if first else last

    def expected_instead_of(self, magic: int) -> str:
        """Return the known magic bytes as text, for an error about `magic` at the usual position of the magic byte."""
        names = " and ".join(each.name for each in self.tried if each.magic == magic)
        return f"{self.magics} (magic {magic} is {names}, with the magic byte elsewhere)" if names else self.magics

    @cached_property
    def pattern(self) -> "re.Pattern[bytes] | None":
        """A regular expression that matches the start of a batch: an offset below 2^56, the length and the magic byte.

        None if any format has its length elsewhere than at byte 8.
        """
        patterns = []
        for each in self.formats:
            positions, magic = each.header_positions, re.escape(bytes((each.magic & 0xFF,)))
            if positions.offset_at != 0 or positions.length_at != 8 or not _is_findable(each):
                return None
            if positions.length_is_varint is None and positions.magic_at is not None:
                too_small = re.escape(bytes((min(positions.least, 256) - 1,)))
                patterns.append(rb"(?!\0{3}[\0-%b])[\0-\x7f][\s\S]{%d}%b" % (too_small, positions.magic_at - 9, magic))
            else:
                gap = positions.magic_after_length or 0
                patterns.append(rb"(?!\0)[\x80-\xff]{0,4}[\0-\x7f][\s\S]{%d}%b" % (gap, magic))
        return re.compile(rb"(?=\0[\s\S]{7}(?:%b))" % b"|".join(patterns))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FormatSet):
            return NotImplemented
        return self.formats == other.formats and self.strict == other.strict

    def __hash__(self) -> int:
        return hash(self.formats)

    def __reduce__(self) -> Any:
        return partial(FormatSet, only=self.only, strict=self.strict), tuple(each.source for each in self.named)

    def __repr__(self) -> str:
        return f"<record formats {', '.join(each.name for each in self.formats)}>"


Formats = str | Format | type[RecordFormat] | Layout | FormatSet | Iterable[Any]
"""The argument `format` of readers: `auto`, comma-separated names, your own format, a list of these, or a FormatSet."""


def format_set(given: Any, *, only: bool = False, strict: bool = True) -> FormatSet:
    """Return a FormatSet for a name, several names, or a format. `auto` means v0, v1, v2 and v3.

    Raises FormatError for an unknown name.
    """
    if isinstance(given, FormatSet):
        if (given.only or not only) and (strict or not given.strict):
            return given
        return FormatSet(*given.named, only=only or given.only, strict=strict and given.strict)
    if isinstance(given, str):
        return _by_name(given, only, strict)
    named = given if isinstance(given, list | tuple) else (given,)
    return FormatSet(*named, only=only, strict=strict)


@lru_cache(maxsize=64)
def _by_name(text: str, only: bool, strict: bool) -> FormatSet:
    if text == AUTO:
        if only:
            raise FormatError("only=True requires a specific format, got 'auto'")
        return FormatSet(*_OF_AUTO, strict=strict)
    return FormatSet(*(name.strip() for name in text.split(",")), only=only, strict=strict)


def _is_findable(format: Format) -> bool:
    positions = format.header_positions
    return format.magic >= 0 and (positions.magic_at is not None or positions.magic_after_length is not None)


# Find formats by name. Generated formats are imported when they are first needed.
# For a format of your own, pass its class, or first give it a name with `register`.

_formats: Final[dict[str, Format]] = {}


class FormatError(TagwireError, LookupError):
    """Raised for a format name that is unknown or already taken, and for formats that can't be combined."""


def format_names() -> list[str]:
    """Return the names that `format_of` accepts."""
    return list(dict.fromkeys((*RECORD_FORMATS, *_formats)))


def format_of(name: "str | Format | type[RecordFormat] | Layout") -> Format:
    """Return the format for a name, class or layout. Raises FormatError for an unknown name."""
    if isinstance(name, Format):
        return name
    if not isinstance(name, str):
        if not isinstance(name, Layout) and not (isinstance(name, type) and issubclass(name, RecordFormat)):
            raise FormatError(f"expected a record format as a name, a RecordFormat or a Layout, got {shown(name)}")
        return Format(name)
    found = _formats.get(name)
    if found is None:
        if name not in RECORD_FORMATS:
            known = format_names()
            raise FormatError(
                f"there is no record format {shown(name)}{near(name, known)}; the known formats are {', '.join(known)}"
            )
        found = Format(record_format(name))
        found.name = found.source = name
        # `setdefault` ensures that all threads use the same object.
        found = _formats.setdefault(name, found)
    return found


def register(source: "type[RecordFormat] | Layout") -> Format:
    """Register a format of your own under its name. Raises FormatError if the name is already taken."""
    format = format_of(source)
    if format.name in RECORD_FORMATS or _formats.get(format.name, format).layout != format.layout:
        raise FormatError(f"a record format named {format.name} already exists; choose another name")
    return _formats.setdefault(format.name, format)
