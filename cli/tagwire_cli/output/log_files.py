"""Read the entries of the files that accompany segments: indexes, producer snapshots and checkpoints."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from tagwire.log.checkpoints import read_json, read_leader_epochs, read_offsets, read_properties
from tagwire.log.indexes import OffsetIndex, TimeIndex, read_producer_snapshot, read_transaction_index
from tagwire.log.names import log_file

_EPOCHS: Final = "leader-epoch-checkpoint"
_OFFSETS: Final = {
    f"{name}-checkpoint"
    for name in ("log-start-offset", "recovery-point-offset", "replication-offset", "cleaner-offset")
}
_PROPERTIES: Final = ("meta.properties", "partition.metadata")


def file_entries(path: Path) -> Iterator[dict[str, Any]] | None:
    """Return an iterator over a file's entries as JSON objects; None for a segment. Iterating may raise LogError."""
    name = log_file(path)
    kind = path.name if name is None else name.kind
    if kind == "index":
        return _named(OffsetIndex(path, _base(path)))
    if kind == "timeindex":
        return _named(TimeIndex(path, _base(path)))
    if kind == "txnindex":
        return _named(read_transaction_index(path))
    if kind == "snapshot":
        entries = read_producer_snapshot(path)
        fields = [each for each in type(entries[0]).__slots__ if each != "unknown_tags"] if entries else []
        return ({field: getattr(entry, field) for field in fields} for entry in entries)
    if kind in (_EPOCHS, "leader_epoch_checkpoint"):
        return _named(read_leader_epochs(path))
    if kind in _OFFSETS:
        return ({**each._asdict(), "offset": offset} for each, offset in read_offsets(path).items())
    if kind in _PROPERTIES:
        return ({"name": key, "value": value} for key, value in read_properties(path).items())
    return iter([read_json(path)]) if kind == "quorum-state" else None


def _base(path: Path) -> int:
    name = log_file(path)
    assert name is not None
    return name.base_offset


def _named(entries: Iterable[Any]) -> Iterator[dict[str, Any]]:
    return (entry._asdict() for entry in entries)
