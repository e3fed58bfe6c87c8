"""Decide which records compaction keeps. A null value or, in some formats, a tombstone bit marks a delete."""

from tagwire.records.format import Format
from tagwire.records.format_set import format_of
from tagwire.records.record import Record


def should_retain(record: Record, format: "str | Format", *, is_latest: bool = True, is_compacted: bool = True) -> bool:
    """Return whether compaction keeps a record, by the rules of its format.

    `is_latest` means that no later record has the same key. Deletes and records with a null key are not kept. In
    formats with a tombstone bit, a delete is a record with `Record.is_tombstone` set; in other formats, a record with a
    null value. If `is_compacted` is false, all records are kept.
    """
    if not is_compacted:
        return True
    has_bit = "is_tombstone" in format_of(format).record_bits
    is_delete = record.is_tombstone if has_bit else record.value is None
    return is_latest and record.key is not None and not is_delete
