"""Measure the effect of another format on logs: bytes before and after compression, and conversion time.

For a fair comparison, each batch is encoded and compressed twice with the same library: `before` in its own format (or
in the format `against`), and `after` in the new format. The current size of the files is counted separately (`bytes`).
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from time import process_time
from typing import Any, Final, NamedTuple

from tagwire.errors import EncodeError
from tagwire.log.convert import Conversion
from tagwire.log.rebatching import LossReport, Piece
from tagwire.log.scan import Progress, ignore
from tagwire.log.segment import Segment
from tagwire.records import Format, RecordBatch, RecordLoss, format_of
from tagwire.records.conversion import converted_batch, left_out

FILLS: Final = ((0, "empty"), (1, "1"), (9, "2 to 9"), (99, "10 to 99"), (999, "100 to 999"), (None, "1000 or more"))
"""The size classes of batches, as pairs: the highest number of records in a batch of the class, and its name."""


class Kind(NamedTuple):
    """The properties by which batches are grouped. Batches with equal properties are measured together."""

    topic: str
    format: str
    codec: str
    fill: str


def fill_of(records: int) -> str:
    """Return the name of the size class for a batch with this number of records, such as "10 to 99"."""
    return next(name for most, name in FILLS if most is None or records <= most)


@dataclass(slots=True)
class Measure:
    """The sizes and counts measured for one kind of batch. Sizes are in bytes."""

    bytes: int = 0
    """Bytes in the files, including batches that are left out or rejected."""
    batches: int = 0
    """The number of compared batches; `records` counts their records."""
    records: int = 0
    uncompressed_before: int = 0
    """The bytes before the conversion, uncompressed. `uncompressed_after` counts the bytes after it."""
    uncompressed_after: int = 0
    compressed_before: int = 0
    """The bytes before the conversion, with the batch's codec. `compressed_after` counts the bytes after it."""
    compressed_after: int = 0
    header_before: int = 0
    """The bytes of batch headers before the conversion; 0 in message sets. `header_after` counts those after it."""
    header_after: int = 0
    left_out: int = 0
    """Batches that the format can't represent, including batches with values that it rejects (`rejected`)."""
    rejected: int = 0
    header_saved: Counter[int] = field(default_factory=Counter)
    """The number of batches by the number of bytes saved in the header."""
    seconds: float = 0.0
    """The processor time for reading and converting, in seconds."""

    def add(self, other: "Measure") -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    @property
    def saved_uncompressed(self) -> int:
        """The number of bytes that the conversion saves if nothing is compressed."""
        return self.uncompressed_before - self.uncompressed_after

    @property
    def saved_compressed(self) -> int:
        """The number of bytes that the conversion saves if each batch keeps its codec."""
        return self.compressed_before - self.compressed_after

    @property
    def saved_per_batch(self) -> float:
        """The average number of bytes saved in a batch header."""
        return (self.header_before - self.header_after) / self.batches if self.batches else 0.0

    @property
    def saved_per_record(self) -> float:
        """The average number of uncompressed bytes saved per record, not counting batch headers."""
        saved = self.saved_uncompressed - (self.header_before - self.header_after)
        return saved / self.records if self.records else 0.0

    def to_json(self) -> dict[str, Any]:
        counts = {each.name: getattr(self, each.name) for each in fields(self) if each.type is int}
        return counts | {
            "saved_uncompressed": self.saved_uncompressed,
            "saved_compressed": self.saved_compressed,
            "saved_per_batch": round(self.saved_per_batch, 3),
            "saved_per_record": round(self.saved_per_record, 3),
            "header_saved": {str(saved): count for saved, count in sorted(self.header_saved.items())},
            "seconds": round(self.seconds, 3),
        }


class WhatIf:
    """Measures what a conversion would save, separately for each kind of batch.

    Each batch is measured twice: in the new format, and in the format `against` (by default, in its own format). Raises
    FormatError for an unknown format.
    """

    def __init__(self, conversion: Conversion, against: Any = None) -> None:
        self.conversion = conversion
        self.against: Format | None = None if against is None else format_of(against)
        self.measures: dict[Kind, Measure] = {}
        self.losses = LossReport()

    def add(self, segment: Segment, topic: str, progress: Progress = ignore) -> None:
        """Measure a segment. `progress` is called with the number of bytes read since the last call.

        Raises LogError at an invalid batch.
        """
        pieces = self.conversion.pieces(segment)
        while True:
            begun = process_time()
            piece = next(pieces, None)
            if piece is None:
                return
            self._add(piece, topic, begun)
            progress(piece.source_bytes)

    def merge(self, other: "WhatIf") -> None:
        for kind, measure in other.measures.items():
            self.measures.setdefault(kind, Measure()).add(measure)
        self.losses.merge(other.losses)

    def _add(self, piece: Piece, topic: str, begun: float) -> None:
        """Measure a batch. `begun` is the value of `process_time()` before the batch was read."""
        batch = piece.batch
        codec = self.conversion.codec_of(piece)
        count = len(batch)
        measure = self.measures.setdefault(Kind(topic, batch.format, codec, fill_of(count)), Measure())
        measure.bytes += piece.source_bytes
        before = self.against or batch.record_format
        after = self.conversion.target(batch)
        why = left_out(batch, after) or left_out(batch, before)
        if why:
            measure.left_out += 1
            self.losses.add(RecordLoss("records", count, why), piece.source)
            return
        losses = LossReport()
        try:
            converted = converted_batch(batch, after, lambda loss: losses.add(loss, piece.source), codec)
            measure.seconds += process_time() - begun
            reference = converted_batch(batch, before, _ignore, codec)
            uncompressed = converted if codec == "none" else converted_batch(batch, after, _ignore, "none")
            reference_uncompressed = reference if codec == "none" else converted_batch(batch, before, _ignore, "none")
        except EncodeError as error:
            measure.left_out += 1
            measure.rejected += 1
            self.losses.add(RecordLoss(error.path, None, f"rejected: {error.reason}"), piece.source)
            return
        self.losses.merge(losses)
        measure.batches += 1
        measure.records += count
        measure.compressed_before += reference.size
        measure.compressed_after += converted.size
        measure.uncompressed_before += reference_uncompressed.size
        measure.uncompressed_after += uncompressed.size
        header_sizes = _header(reference_uncompressed), _header(uncompressed)
        measure.header_before += header_sizes[0]
        measure.header_after += header_sizes[1]
        measure.header_saved[header_sizes[0] - header_sizes[1]] += 1

    def total(self) -> Measure:
        return self.by(lambda kind: "")[""]

    def by(self, name: Callable[[Kind], str]) -> dict[str, Measure]:
        """Add up the measurements of each group. `name` is a function that returns the group of a `Kind`.

        If there are no measurements, return an empty Measure under "".
        """
        found: dict[str, Measure] = {}
        for kind, measure in self.measures.items():
            found.setdefault(name(kind), Measure()).add(measure)
        return found or {"": Measure()}


def _ignore(loss: RecordLoss) -> None:
    """Do nothing with a loss: each batch is converted several times, and only the first conversion reports losses."""


def _header(batch: RecordBatch) -> int:
    return batch.size - batch.records_size
