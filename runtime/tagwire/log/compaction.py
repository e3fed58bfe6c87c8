"""The rules of compaction: which records are kept, and why.

The last record of each key is kept. A tombstone is kept for the retention time, so that consumers can read it. Formats
with a delete horizon store the end of that time in the batch when it is first compacted. In all other formats, a
tombstone is removed if its segment is older than the last compacted segment by at least the retention time. Records of
aborted transactions are removed at once. Their markers are removed when no batch of the transaction is left and the
horizon has passed. A batch that loses all its records is kept, empty, if it has the last sequence number of an active
producer, or the last offset of the log. Offsets never change. Compacting again changes nothing.

Source: KIP-98, KIP-534, KIP-87 for the tombstone flag, and the behavior of Kafka's cleaner.
"""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from tagwire.errors import TagwireError
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.batch_rules import ABORT, COMMIT
from tagwire.log.batch_summary import Survey
from tagwire.log.rebatching import builder_like
from tagwire.log.scan import LogBatch, Skip
from tagwire.log.segment import Segment
from tagwire.records import BatchBuilder, Record, RecordBatch
from tagwire.records.building import AT_ONCE
from tagwire.records.control import control_type
from tagwire.records.format_set import AUTO, format_set
from tagwire.records.moving import HAS_NO_KEY, HAS_NO_VALUE, IS_LAST, Movable, movable, new_run

_DIGEST: Final = 16


class KeyMap:
    """The last offset of each key: the only data that compaction holds in memory for the whole log.

    An entry takes 110 to 200 bytes. Keys of 16 bytes or more are stored as 16-byte digests, which collide as rarely as
    the digests in Kafka's own map. Shorter keys are stored unchanged.
    """

    __slots__ = ("_offsets",)

    def __init__(self) -> None:
        self._offsets: dict[bytes, int] = {}

    def put(self, key: bytes, offset: int) -> None:
        """Add a record. Records must be added in the order of their offsets."""
        self._offsets[key if len(key) < _DIGEST else blake2b(key, digest_size=_DIGEST).digest()] = offset

    def is_last(self, key: bytes, offset: int) -> bool:
        """Return whether no record with this key has a higher offset."""
        known = key if len(key) < _DIGEST else blake2b(key, digest_size=_DIGEST).digest()
        return self._offsets.get(known, -1) <= offset

    def movable(self, batch: RecordBatch) -> None:
        """Return None, because native code can't look up keys in a dict."""

    def last_offsets(self) -> "LastOffsets":
        """Return an object that stores only the offsets, because the keys take most of the memory."""
        return LastOffsets(array("q", sorted(self._offsets.values())))

    def __len__(self) -> int:
        return len(self._offsets)


class LastOffsets:
    """The offset of each key's last record. The keys are not stored, so each key takes only 8 bytes.

    Offsets must be unique in the log.
    """

    __slots__ = ("_offsets",)

    def __init__(self, offsets: "array[int]") -> None:
        self._offsets = offsets

    def is_last(self, key: bytes, offset: int) -> bool:
        """Return whether the record at this offset is the last one with its key. `key` is not used."""
        at = bisect_left(self._offsets, offset)
        return at < len(self._offsets) and self._offsets[at] == offset

    def movable(self, batch: RecordBatch) -> Movable | None:
        """Return a batch's records and flags (see `tagwire.records.moving`), or None if native code can't read them."""
        return movable(batch, self._offsets)


DAY_MS: Final = 86_400_000

KEPT: Final = {
    "latest": "the last record with its key",
    "tombstone": "a tombstone that has not expired",
    "no_flag": "a null value without the tombstone flag, which counts as a value",
    "marker": "a marker that has not expired, or whose transaction still has records",
    "control": "a control record that ends no transaction",
    "last_offset": "the last offset of the log, in a format without empty batches",
}
"""Reasons to keep a record."""
REMOVED: Final = {
    "superseded": "a later record has the same key",
    "expired_tombstone": "a tombstone whose time has passed",
    "aborted": "from an aborted transaction",
    "expired_marker": "a marker whose transaction has no records left, and whose time has passed",
    "no_key": "has no key",
}
"""Reasons to remove a record."""


class CompactionError(TagwireError):
    """Raised if a log can't be compacted with the given options."""


@dataclass(kw_only=True, eq=False)
class Compaction:
    """Compaction options. Times are in milliseconds; `now` counts from 1970.

    The log is already compacted up to the offset `dirty_from` (None if unknown). Keys of records below that offset are
    not held in memory.
    """

    now: int
    delete_retention_ms: int = DAY_MS
    min_compaction_lag_ms: int = 0
    producer_expiration_ms: int = DAY_MS
    dirty_from: int | None = None
    include_active: bool = False
    """Whether to compact the last segment, which brokers leave alone."""
    drop_keyless: bool = False
    """Whether to remove records without a key, instead of rejecting them."""
    max_keys: int = 5_000_000
    segment_bytes: int = 0
    """Neighboring segments are joined up to this total size, in bytes; 0 joins none."""
    format: Any = AUTO
    limits: Limits = DEFAULT_LIMITS
    skip: Skip | None = None
    """Called with the error of each part that can't be read. If None, the first error is raised."""

    def __post_init__(self) -> None:
        self.format = format_set(self.format)

    @property
    def silent(self) -> Skip | None:
        """Replaces `skip` in the passes before the last one, so that each error is reported once."""
        return (lambda error: None) if self.skip else None

    def batches(self, segment: Segment, skip: Skip | None, begin: int | None = None) -> Iterator[LogBatch]:
        """Return the segment's batches from offset `begin` on."""
        return segment.batches(begin, self.format, self.limits, skip=skip)


Judged = list[tuple[Record, str]]
"""Records, each with the reason to keep or remove it."""


class Verdict(NamedTuple):
    """The decision about one batch: which batch to write in its place, and why."""

    batch: RecordBatch | None
    """The batch to write, or None if the batch is removed."""
    counts: Mapping[str, int]
    """Maps reasons (from KEPT and REMOVED) to numbers of records."""
    kept: int
    records: Sequence[tuple[Record, str]] = ()
    """Pairs of a record and its reason. Empty unless `Judge` was created with `explains=True`."""


class Judge:
    """Decides which records to keep. Batches must be passed in log order.

    If `explains` is true, each `Verdict` also contains the reason why each record is kept or removed.
    """

    def __init__(
        self, compaction: Compaction, survey: Survey, lasts: KeyMap | LastOffsets, *, explains: bool = False
    ) -> None:
        self.compaction = compaction
        self.survey = survey
        self.lasts = lasts
        self.explains = explains
        self.left: set[int] = set()
        """Producers whose open transaction still has a batch in the compacted log."""
        self.old_tombstones_stay = True

    def begin_segment(self, modified_ms: int) -> None:
        """Begin a segment. If it was modified recently, keep its tombstones in formats that have no delete horizons."""
        self.old_tombstones_stay = modified_ms > self.survey.oldest_kept_ms

    def verdict(self, batch: RecordBatch) -> Verdict:
        """Decide which records of the next batch to keep.

        Raises CompactionError for a record without a key, and DecodeError for records that can't be read.
        """
        horizon = self._horizon(batch)
        if batch.is_control:
            return self._of_control(batch, horizon)
        found = self._natively(batch, horizon) or self._by_records(batch, horizon)
        if found.batch is not None and batch.is_transactional:
            self.left.add(batch.producer_id)
        return found

    def _natively(self, batch: RecordBatch, horizon: int | None) -> Verdict | None:
        """Decide like `_by_records`, but in native code. Return None if native code can't read the records."""
        found = None if self.explains or self.survey.is_aborted(batch) else self.lasts.movable(batch)
        if found is None:
            return None
        reasons, marks = _OF_FACTS[self._is_due(horizon)]
        counts = Counter[str]()
        for fact, reason in enumerate(reasons):
            counts[reason] += found.facts.count(fact)
        if counts["no_key"] and not self.compaction.drop_keyless:
            return None

        def write(builder: BatchBuilder) -> RecordBatch:
            run = new_run(batch.base_offset, builder.delete_horizon_ms)
            found.move(run, found.facts.translate(marks))
            if found.next_offset is None:  # native code can't copy one of the records
                return builder.build_of(self._kept(batch, horizon))
            return builder.build_run(run)

        return self._verdict(batch, horizon, +counts, write)

    def _by_records(self, batch: RecordBatch, horizon: int | None) -> Verdict:
        if self.explains or batch.record_format.records is None or len(batch) < AT_ONCE:
            return self._of_records(batch, horizon, list(self._judged(batch, horizon)))
        # Read the batch once per step, so that not all records are in memory at once.
        counts = Counter(reason for _, reason in self._judged(batch, horizon))
        has_attributes = any(record.attributes for record in self._kept(batch, horizon))
        return self._verdict(
            *(batch, horizon, counts),
            lambda builder: builder.build_of(self._kept(batch, horizon), has_attributes=has_attributes),
        )

    def _of_control(self, batch: RecordBatch, horizon: int | None) -> Verdict:
        records = list(batch)
        kind = control_type(records[0].key if records else None)
        if records and kind not in (ABORT, COMMIT):
            return self._of_records(batch, horizon, [(record, "control") for record in records])
        reason = "expired_marker" if self._is_due(horizon) else "marker"
        if records and batch.producer_id in self.left:  # don't set a horizon before the transaction's records are gone
            horizon, reason = batch.delete_horizon_ms, "marker"
        self.left.discard(batch.producer_id)
        return self._of_records(batch, horizon, [(record, reason) for record in records])

    def _of_records(self, batch: RecordBatch, horizon: int | None, records: Judged) -> Verdict:
        kept = [record for record, reason in records if reason in KEPT]
        # v0 and v1 have no empty batches, so in these formats a batch that must stay keeps its last record.
        if records and not kept and batch.record_format.records is None and self._must_stay(batch):
            kept = [records[-1][0]]
            records[-1] = kept[0], "last_offset"
        counts = Counter(reason for _, reason in records)
        found = self._verdict(batch, horizon, counts, lambda builder: builder.extend(kept).build())
        return found._replace(records=records) if self.explains else found

    def _verdict(
        self,
        batch: RecordBatch,
        horizon: int | None,
        counts: Counter[str],
        write: Callable[[BatchBuilder], RecordBatch],
    ) -> Verdict:
        """Return the verdict, given the number of records for each reason.

        `horizon` is the new batch's delete horizon if it has tombstones or markers. `write` builds a batch that
        contains only the kept records.
        """
        kept = sum(count for reason, count in counts.items() if reason in KEPT)
        if not kept:
            return Verdict(self._emptied(batch), counts, kept)
        new_horizon = horizon if counts["tombstone"] or counts["marker"] else batch.delete_horizon_ms
        if kept == counts.total() and new_horizon == batch.delete_horizon_ms:
            return Verdict(batch, counts, kept)
        return Verdict(write(_builder(batch, new_horizon)), counts, kept)

    def _judged(self, batch: RecordBatch, horizon: int | None) -> Iterator[tuple[Record, str]]:
        if self.survey.is_aborted(batch):
            return ((record, "aborted") for record in batch)
        is_due = self._is_due(horizon)
        return ((record, self._reason_for(record, is_due=is_due)) for record in batch)

    def _kept(self, batch: RecordBatch, horizon: int | None) -> Iterator[Record]:
        return (record for record, reason in self._judged(batch, horizon) if reason in KEPT)

    def _reason_for(self, record: Record, *, is_due: bool) -> str:
        if record.key is None and not self.compaction.drop_keyless:
            raise CompactionError(
                f"the record at offset {record.offset} has no key, but records of compacted topics must have one; to "
                "remove records without keys, as a broker does, pass argument `drop_keyless=True`"
            )
        fact = HAS_NO_KEY if record.key is None else IS_LAST * self.lasts.is_last(record.key, record.offset)
        fact |= HAS_NO_VALUE * (record.value is None)
        return _reason(fact, is_tombstone=record.is_tombstone, is_due=is_due)

    def _horizon(self, batch: RecordBatch) -> int | None:
        """Return the batch's delete horizon, or else a new one, or None if the format has no delete horizons."""
        if "has_delete_horizon" not in batch.record_format.bits:
            return None
        stated = batch.delete_horizon_ms
        return self.compaction.now + self.compaction.delete_retention_ms if stated is None else stated

    def _is_due(self, horizon: int | None) -> bool:
        return not self.old_tombstones_stay if horizon is None else self.compaction.now >= horizon

    def _must_stay(self, batch: RecordBatch) -> bool:
        """Return whether the batch has the log's last offset, or an active producer's last sequence number."""
        return batch.last_offset + 1 == self.survey.end or self.survey.is_last_of_producer(batch)

    def _emptied(self, batch: RecordBatch) -> RecordBatch | None:
        """Return the empty batch that replaces a batch without kept records, or None if the batch can be removed."""
        if not self._must_stay(batch):
            return None
        if len(batch) == 0:
            return batch
        builder = _builder(batch, None)
        builder.compression, builder.base_timestamp, builder.max_timestamp = "none", -1, batch.max_timestamp
        return builder.build()


def _reason(fact: int, *, is_tombstone: bool, is_due: bool) -> str:
    """Return the reason to keep or remove a record, given its flags (see `tagwire.records.moving`)."""
    if fact & HAS_NO_KEY:
        return "no_key"
    if not fact & IS_LAST:
        return "superseded"
    if not is_tombstone:
        return "no_flag" if fact & HAS_NO_VALUE else "latest"
    return "expired_tombstone" if is_due else "tombstone"


def _of_facts(*, is_due: bool) -> tuple[list[str], bytes]:
    """Return two tables, indexed by a record's flags: the reason, and whether the record is kept (1) or removed (0)."""
    reasons = [_reason(fact, is_tombstone=bool(fact & HAS_NO_VALUE), is_due=is_due) for fact in range(8)]
    return reasons, bytes(reason in KEPT for reason in reasons).ljust(256, b"\0")


_OF_FACTS: Final = {is_due: _of_facts(is_due=is_due) for is_due in (False, True)}


def _builder(batch: RecordBatch, horizon: int | None) -> BatchBuilder:
    offsets: dict[str, int] = {}
    if batch.record_format.records is not None:
        offsets = {"base_offset": batch.base_offset, "last_offset": batch.last_offset}
    return builder_like(batch, delete_horizon_ms=horizon, **offsets)
