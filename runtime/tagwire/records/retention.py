"""What compaction keeps. Source: KIP-87, and before it the rule of the null value."""

from tagwire.records.format import Format
from tagwire.records.formats import format_of
from tagwire.records.record import Record


def should_retain(record: Record, format: "str | Format", *, is_latest: bool = True, is_compacted: bool = True) -> bool:
    """Return whether compaction keeps a record, according to its format.

    `is_latest` says that no later record has its key. Formats with a tombstone
    bit look at that alone, all others at the null value. A record that has no
    flag yet, as a producer makes it, has the one that it will be written with
    (`Record.is_tombstone`). Only a compacted topic deletes.
    """
    if not is_compacted:
        return True
    has_bit = "is_tombstone" in format_of(format).record_bits
    is_delete = record.is_tombstone if has_bit else record.value is None
    return is_latest and record.key is not None and not is_delete
