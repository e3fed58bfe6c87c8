"""The rule of compaction: which records of a batch stay, and why.

For each key the last record stays. What deletes a key, a tombstone, stays until
everyone can have read it: formats with a delete horizon say in the batch until
when, and get one with the first compaction; in older ones a tombstone goes when
its segment was last written to so long before the last one that is compacted.
What transactions aborted goes at once, their markers when no batch of their
transaction is left and the horizon has passed. A batch that loses all its
records stays, empty, if it has the last sequence number of a producer that may
go on, or the last offset of all. Offsets never change.

A broker's cleaner comes to this in several rounds: a marker gets its horizon in
the round after the one that removes its transaction. Here it is one, by what is
left and not by what was there; so compacting again changes nothing.
Source: KIP-98, KIP-534, KIP-87 for its flag; what Kafka's cleaner does.
"""

from typing import Any, Final, NamedTuple

from tagwire.errors import TagwireError
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.key_map import KeyMap
from tagwire.log.rebatching import builder_like
from tagwire.log.survey import Survey
from tagwire.log.transactions import ABORT, COMMIT
from tagwire.records import Format, Record, RecordBatch, format_of

__all__ = ["KEPT", "REMOVED", "Compaction", "CompactionError", "Judge", "Verdict"]

DAY_MS: Final = 86_400_000

KEPT: Final = {
    "latest": "the last of its key",
    "tombstone": "a tombstone whose time has not come",
    "no_flag": "a null value without the tombstone flag, which counts as a value",
    "marker": "a marker: of its transaction something is left, or its time has not come",
    "control": "a control record that ends no transaction",
    "last_offset": "has the last offset, in a format without empty batches",
}
"""Why a record is kept."""
REMOVED: Final = {
    "superseded": "a later record has its key",
    "expired_tombstone": "a tombstone whose time has passed",
    "aborted": "of a transaction that was aborted",
    "expired_marker": "a marker with nothing left of its transaction, whose time has passed",
    "no_key": "has no key",
}
"""Why a record is removed."""


class CompactionError(TagwireError):
    """A log that can't be compacted as it was asked for."""


class Compaction:
    """What is asked for. Times are milliseconds, `now` since 1970.

    `dirty_from`: what is below this offset was compacted before, so that its
    keys need not be kept in mind; None if that is not known.
    """

    def __init__(
        self,
        *,
        now: int,
        delete_retention_ms: int = DAY_MS,
        min_compaction_lag_ms: int = 0,
        producer_expiration_ms: int = DAY_MS,
        dirty_from: int | None = None,
        include_active: bool = False,
        drop_keyless: bool = False,
        max_keys: int = 5_000_000,
        segment_bytes: int = 0,
        format: Any = "auto",
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.now = now
        self.delete_retention_ms = delete_retention_ms
        self.min_compaction_lag_ms = min_compaction_lag_ms
        self.producer_expiration_ms = producer_expiration_ms
        self.dirty_from = dirty_from
        self.include_active = include_active
        """Also the last segment, which brokers leave alone."""
        self.drop_keyless = drop_keyless
        """Records without a key are removed, not refused."""
        self.max_keys = max_keys
        self.segment_bytes = segment_bytes
        """Neighbours of no more than this together become one segment; each stays one with 0."""
        self.format = format
        self.limits = limits
        if format != "auto":
            format_of(format)


class Verdict(NamedTuple):
    """What becomes of a batch."""

    batch: RecordBatch | None
    """As it is to be written; None if nothing of it is."""
    records: list[tuple[Record, str]]
    """Each record with its reason, one of KEPT or REMOVED."""


class Judge:
    """Feed it the batches of a log in their order."""

    def __init__(self, compaction: Compaction, survey: Survey, keys: KeyMap) -> None:
        self.compaction = compaction
        self.survey = survey
        self.keys = keys
        self.aborted = survey.aborted_transactions()
        self.left: set[int] = set()
        """Producers of whose running transaction a batch is left."""
        self.old_tombstones_stay = True

    def begin_segment(self, modified_ms: int) -> None:
        """Go on with a segment that was last written to at this time: in older formats that is what counts."""
        self.old_tombstones_stay = modified_ms > self.survey.oldest_kept_ms

    def verdict(self, batch: RecordBatch) -> Verdict:
        """What becomes of the next batch. Raises DecodeError for records that can't be read, CompactionError."""
        format = format_of(batch.format if self.compaction.format == "auto" else self.compaction.format)
        horizon = self._horizon(batch, format)
        if batch.is_control:
            return self._control(batch, format, horizon)
        if self.aborted.has(batch):
            records = [(record, "aborted") for record in batch]
        else:
            is_due = self._is_due(horizon)
            records = [(record, self._reason(record, is_due=is_due)) for record in batch]
        written = self._written(batch, format, records, horizon)
        if written is not None and batch.is_transactional:
            self.left.add(batch.producer_id)
        return Verdict(written, records)

    # ------------------------------------------------------------ records

    def _reason(self, record: Record, *, is_due: bool) -> str:
        if record.key is None:
            if not self.compaction.drop_keyless:
                raise CompactionError(
                    f"the record at offset {record.offset} has no key: a topic that is compacted takes none, and a"
                    " broker's cleaner removes them; remove them too (drop_keyless, --drop-keyless), or leave the log"
                    " as it is"
                )
            return "no_key"
        if self.keys.latest(record.key) > record.offset:
            return "superseded"
        if not record.is_tombstone:
            return "no_flag" if record.value is None else "latest"
        return "expired_tombstone" if is_due else "tombstone"

    def _horizon(self, batch: RecordBatch, format: Format) -> int | None:
        """Until when tombstones and markers of a batch stay; None in formats that can't say it."""
        if "has_delete_horizon" not in format.bits:
            return None
        stated = batch.delete_horizon_ms
        return self.compaction.now + self.compaction.delete_retention_ms if stated is None else stated

    def _is_due(self, horizon: int | None) -> bool:
        return not self.old_tombstones_stay if horizon is None else self.compaction.now >= horizon

    # ------------------------------------------------------------ batches

    def _control(self, batch: RecordBatch, format: Format, horizon: int | None) -> Verdict:
        """Markers, and control records of other kinds, which are kept."""
        records = list(batch)
        kind = self.survey.marker(records)
        if records and kind not in (ABORT, COMMIT):
            return Verdict(batch, [(record, "control") for record in records])
        self.aborted.end(batch)
        is_left = batch.producer_id in self.left
        self.left.discard(batch.producer_id)
        if is_left and records:
            return Verdict(batch, [(record, "marker") for record in records])
        reason = "expired_marker" if self._is_due(horizon) else "marker"
        judged = [(record, reason) for record in records]
        return Verdict(self._written(batch, format, judged, horizon), judged)

    def _written(
        self, batch: RecordBatch, format: Format, records: list[tuple[Record, str]], horizon: int | None
    ) -> RecordBatch | None:
        """The batch of the records that are kept, in the shape that it has."""
        kept = [record for record, reason in records if reason in KEPT]
        if not kept:
            return self._emptied(batch, format, records)
        new_horizon = batch.delete_horizon_ms
        if any(reason in ("tombstone", "marker") for _, reason in records):
            new_horizon = horizon
        if len(kept) == len(records) and new_horizon == batch.delete_horizon_ms:
            return batch
        place: dict[str, int] = {}
        if format.records is not None:
            place = {"base_offset": batch.base_offset, "last_offset": batch.last_offset}
        return builder_like(batch, format, delete_horizon_ms=new_horizon, **place).extend(kept).build()

    def _emptied(self, batch: RecordBatch, format: Format, records: list[tuple[Record, str]]) -> RecordBatch | None:
        """A batch without records, where one is to stay: it has the last word of a producer, or the last offset."""
        is_last = batch.last_offset + 1 == self.survey.end
        if not (is_last or self.survey.is_last_of_producer(batch)):
            return None
        if not records:
            return batch
        if format.records is None:  # which has no empty batches: its last message stays
            last = records[-1][0]
            records[-1] = (last, "last_offset")
            return batch if len(records) == 1 else builder_like(batch, format).extend([last]).build()
        return builder_like(
            batch,
            format,
            compression="none",
            delete_horizon_ms=None,
            base_offset=batch.base_offset,
            last_offset=batch.last_offset,
            base_timestamp=-1,
            max_timestamp=batch.max_timestamp,
        ).build()
