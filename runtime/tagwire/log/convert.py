"""Convert a partition to another format, codec or batch size.

Batches that already have the requested format, codec and size are copied byte for byte, without decompressing them.
Each segment becomes a segment with the same base offset and new indexes. If the new file exceeds 2 GiB, the limit of
index positions, a second segment continues it.

v0 and v1 have neither transaction markers nor empty batches, so both are left out and counted as losses.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tagwire.errors import EncodeError, TagwireError
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.batch_rules import OpenTransactions, is_far
from tagwire.log.checkpoints import TopicPartition, read_offsets, write_offsets
from tagwire.log.errors import is_file, is_folder, unwritable
from tagwire.log.names import partition_name
from tagwire.log.partition import Partition, read_steadily
from tagwire.log.rebatching import BatchSize, LossReport, Piece, rebatched
from tagwire.log.scan import Progress, Skip, ignore
from tagwire.log.segment import Segment
from tagwire.log.whole_folder import claimed, whole_folder
from tagwire.log.writing import SegmentWriter, index_kinds, single_batches
from tagwire.records import Format, RecordBatch, RecordLoss, format_of
from tagwire.records.conversion import converted_batch, left_out
from tagwire.records.format_set import format_set
from tagwire.text_format import shown
from tagwire.wire.compression import CODEC_NAMES

__all__ = [
    "Conversion",
    "ConvertReport",
    "convert_partition",
    "convert_segment",
    "copy_directory_files",
    "files_to_copy",
]

_SEGMENT_BYTES: Final = 0x7FFFFFFF
"""The highest position that an offset index can contain, and so the maximum size of a segment."""
_COPIED: Final = ("leader-epoch-checkpoint", "partition.metadata", "quorum-state")
_CLEAN: Final = ".kafka_cleanshutdown"


class Conversion:
    """Conversion options: the format, the codec and the maximum size of new batches, and how to read the source.

    If the format, the codec or the size is None, batches keep their own. Raises FormatError for an unknown format, and
    TagwireError for a codec that the format does not support.
    """

    def __init__(
        self,
        to: Any = None,
        codec: str | None = None,
        size: BatchSize | None = None,
        source: Any = "auto",
        limits: Limits = DEFAULT_LIMITS,
        skip: Skip | None = None,
    ) -> None:
        self.to: Format | None = None if to is None else format_of(to)
        self.codec = codec
        self.size = size if size and size != BatchSize() else None
        self.source = format_set(source)
        """The formats of the input."""
        self.limits = limits
        self.skip = skip
        """Called with the error of each part that can't be read. If None, the first error is raised."""
        known = list(dict.fromkeys(name.partition("-")[0] for name in (self.to.codecs if self.to else CODEC_NAMES)))
        if codec is not None and codec not in known:
            where = f"in {self.to.name}" if self.to else "in any format"
            raise TagwireError(f"unknown codec {shown(codec)} {where}; known codecs are {', '.join(known)}")

    @property
    def is_one_to_one(self) -> bool:
        """Whether each batch becomes a single batch with the same producer. If so, producer snapshots stay valid."""
        return self.size is None and (self.to is None or "producer_id" in self.to.fields)

    def target(self, batch: RecordBatch) -> Format:
        """Return the format to which a batch is converted: the requested format or, by default, the batch's own."""
        return batch.record_format if self.to is None else self.to

    def pieces(self, segment: Segment) -> Iterator[Piece]:
        """Yield the batches of a segment. If a batch size was requested, regroup the records into batches of that size.

        Raises LogError for an invalid batch.
        """
        batches = segment.batches(None, self.source, self.limits, skip=self.skip)
        if self.size is None:
            return (Piece(batch, batch.size, 1, batch) for batch in batches)
        return rebatched(batches, self.size, self.to)

    def codec_of(self, piece: Piece) -> str:
        """Return the converted batch's codec. Control batches keep their codec; empty batches are not compressed."""
        if len(piece.batch) == 0:
            return "none"
        return piece.source.compression if self.codec is None or piece.batch.is_control else self.codec

    def convert(self, piece: Piece, losses: LossReport) -> RecordBatch | None:
        """Return the converted batch, or None if the format can't represent it at all. Losses are added to `losses`.

        Raises LogError for records that can't be read, and EncodeError for values that the format can't represent.
        """
        batch, target = piece.batch, self.target(piece.batch)
        why = left_out(batch, target)
        if why:
            losses.add(RecordLoss("records", len(batch), why), piece.source)
            return None
        codec = self.codec_of(piece)
        has_codec = codec == batch.compression or len(batch) == 0
        if target.name == batch.format and has_codec:
            return batch
        try:
            return converted_batch(batch, target, lambda loss: losses.add(loss, piece.source), codec)
        except EncodeError as error:
            raise unwritable(error, piece.source.file, piece.source.position) from None


class ConvertReport(NamedTuple):
    """The result of converting one segment: its size before and after the conversion, and the lost values."""

    file: Path | str
    """The path of the source segment, or its URL as a string."""
    batches: int
    records: int
    bytes: int
    new_batches: int
    """The number of batches after the conversion. In v0 and v1, each uncompressed message counts as one batch."""
    new_bytes: int
    left_out: int
    """The number of batches that the target format can't represent."""
    losses: LossReport

    def to_json(self) -> dict[str, Any]:
        return self._asdict() | {"file": str(self.file), "losses": self.losses.to_json()}


def convert_partition(
    partition: Partition, target: str | Path, conversion: Conversion, progress: Progress = ignore
) -> list[ConvertReport]:
    """Write a converted copy of a partition to a new folder, which appears only when it is complete.

    `progress` is called with the number of bytes read since the last call. Raises LogError for an invalid batch,
    EncodeError for values that can't be represented, and LogPathError if the folder exists or can't be written.
    """

    def converted(found: Partition) -> list[ConvertReport]:
        with whole_folder(Path(target), found.path) as folder:
            transactions = OpenTransactions()
            reports = [convert_segment(each, folder, conversion, transactions, progress) for each in found.segments]
            for path in files_to_copy(found, conversion):
                shutil.copyfile(path, folder / path.name)
        return reports

    return read_steadily(partition, converted)


def convert_segment(
    segment: Segment, folder: Path, conversion: Conversion, transactions: OpenTransactions, progress: Progress = ignore
) -> ConvertReport:
    """Write a converted segment to an existing folder.

    `transactions` must contain the transactions that are open after the previous segment. This function updates it for
    the next segment. Raises LogError for an invalid batch, and EncodeError for values that the target format can't
    represent.
    """
    losses = LossReport()
    batches = new_batches = records = skipped = 0
    kinds = index_kinds(segment)
    with SegmentWriter(folder, segment.base_offset or 0, kinds, transactions, most_bytes=_SEGMENT_BYTES) as output:
        for piece in conversion.pieces(segment):
            batches += piece.source_batches
            if is_far(piece.batch, piece.source, segment.base_offset or 0, conversion.skip):
                continue
            batch = conversion.convert(piece, losses)
            skipped += batch is None
            for each, count in single_batches(batch, len(piece.batch)) if batch is not None else ():
                if each.max_timestamp >= 0:
                    kinds.add("timeindex")
                output.append(each, count)
                new_batches, records = new_batches + 1, records + count
            progress(piece.source_bytes)
    return ConvertReport(segment.path, batches, records, segment.size, new_batches, output.bytes, skipped, losses)


def files_to_copy(partition: Partition, conversion: Conversion) -> list[Path]:
    """Return the files to copy unchanged, because they don't depend on the format.

    Producer snapshots are included only if they stay valid (`Conversion.is_one_to_one`).
    """
    kinds = ("checkpoint", "snapshot") if conversion.is_one_to_one else ("checkpoint",)
    named = [path for kind in kinds for path, _ in partition.named(kind)]
    return [*partition.files_called(*_COPIED), *named]


def copy_directory_files(folders: Iterable[tuple[Path, Path]], *, keeps_producers: bool) -> None:
    """Copy the broker's properties and offset checkpoints from each log folder to its target folder.

    If several log folders have the same target, their offset checkpoints are combined, and the other files are copied
    from the first folder. `keeps_producers` is true if the producer snapshots were copied. If not,
    `.kafka_cleanshutdown` is not copied, so that the broker rebuilds the producer snapshots. Raises LogError for an
    invalid checkpoint.
    """
    sources: dict[Path, list[Path]] = {}
    for folder, target in folders:
        sources.setdefault(target, []).append(folder)
    for target, found in sources.items():
        target.mkdir(parents=True, exist_ok=True)
        with claimed(target / "checkpoints", waits=True):  # other processes may write to `target`
            _copy_files(found, target, keeps_producers=keeps_producers)


def _copy_files(folders: Sequence[Path], target: Path, *, keeps_producers: bool) -> None:
    names: dict[str, Path] = {}
    for path in (each for folder in folders for each in sorted(folder.iterdir()) if is_file(each)):
        names.setdefault(path.name, path)
    for name, first in names.items():
        if name.endswith("-offset-checkpoint"):
            _join_offsets(name, folders, target)
        elif name.endswith(("-checkpoint", ".properties")) and not (target / name).exists():
            shutil.copyfile(first, target / name)
    _copy_mark(folders, target, keeps_producers=keeps_producers)


def _join_offsets(name: str, folders: Sequence[Path], target: Path) -> None:
    """Merge one kind of offset checkpoint file from all log folders into the target's file.

    For each partition, use the offset from the folder that contains the partition.
    """
    paths = [path for folder in (target, *folders) if is_file(path := folder / name)]
    if len(paths) == 1:
        shutil.copyfile(paths[0], target / name)
        return
    joined: dict[TopicPartition, int] = {}
    for path in paths:
        for each, offset in read_offsets(path).items():
            if each not in joined or is_folder(path.parent / f"{each.topic}-{each.partition}"):
                joined[each] = offset
    write_offsets(target / name, joined)


def _copy_mark(folders: Sequence[Path], target: Path, *, keeps_producers: bool) -> None:
    if not keeps_producers or not all(is_file(folder / _CLEAN) for folder in folders):
        (target / _CLEAN).unlink(missing_ok=True)
        return
    logs = (each.name for each in target.iterdir() if partition_name(each) and is_folder(each))
    # Copy .kafka_cleanshutdown only if all partitions in the target come from `folders`.
    if all(any(is_folder(folder / name) for folder in folders) for name in logs):
        shutil.copyfile(folders[0] / _CLEAN, target / _CLEAN)
