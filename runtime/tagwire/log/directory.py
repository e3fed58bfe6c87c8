"""A broker's folder of logs: its partitions, who the broker is, and the offsets that it kept in mind."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tagwire.log.checkpoints import TopicPartition, read_offsets, read_properties
from tagwire.log.errors import LogPathError
from tagwire.log.names import log_file, partition_name
from tagwire.log.partition import Partition

__all__ = ["LogDirectory", "find_partitions", "is_partition"]

_CHECKPOINT: Final = "{}-checkpoint"


def is_partition(path: Path) -> bool:
    """Whether a folder is a partition's: it has segments, or the name of one and no partitions below it.

    A second broker of a machine often has its logs in a folder such as kafka-logs-1. Raises OSError.
    """
    found = list(path.iterdir())
    if any((name := log_file(each)) and name.kind in ("log", "checkpoint") for each in found):
        return True
    return partition_name(path) is not None and not any(partition_name(each) and each.is_dir() for each in found)


def find_partitions(path: Path) -> Iterator[Partition]:
    """The partitions in a folder and in the folders below it, in the order of their names. Raises LogPathError.

    What a hidden folder has is not looked for: it is on its way, unless it is a partition by its name.
    """
    try:
        if is_partition(path.absolute()):
            yield Partition(path)
            return
        below = sorted(each for each in path.iterdir() if each.is_dir() and not _is_hidden(each))
    except OSError as error:
        raise LogPathError(f"{path}: can't be read: {error.strerror}") from None
    for each in below:
        yield from find_partitions(each)


def _is_hidden(path: Path) -> bool:
    return path.name.startswith(".") and partition_name(path) is None


class LogDirectory:
    """A folder of logs (`log.dirs` of a broker). Raises LogPathError; the checkpoints raise LogError."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise LogPathError(f"{self.path}: there is no such folder")

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """The partitions, in the order of their names."""
        folders = sorted(each for each in self.path.iterdir() if each.is_dir() and is_partition(each))
        return tuple(map(Partition, folders))

    @property
    def broker(self) -> dict[str, str]:
        """`meta.properties`, empty where there is none: node.id or broker.id, cluster.id, directory.id, version."""
        path = self.path / "meta.properties"
        return read_properties(path) if path.is_file() else {}

    @property
    def was_stopped_cleanly(self) -> bool:
        """Whether the broker said so; without it, ends of segments may be missing."""
        return (self.path / ".kafka_cleanshutdown").exists()

    @property
    def log_start_offsets(self) -> dict[TopicPartition, int]:
        """Where logs begin whose first records were deleted."""
        return self._offsets("log-start-offset")

    @property
    def recovery_points(self) -> dict[TopicPartition, int]:
        """Up to where everything is known to be on disk."""
        return self._offsets("recovery-point-offset")

    @property
    def high_watermarks(self) -> dict[TopicPartition, int]:
        """Up to where everything is replicated."""
        return self._offsets("replication-offset")

    @property
    def cleaner_offsets(self) -> dict[TopicPartition, int]:
        """Up to where compacted logs are compacted."""
        return self._offsets("cleaner-offset")

    def _offsets(self, name: str) -> dict[TopicPartition, int]:
        path = self.path / _CHECKPOINT.format(name)
        return read_offsets(path) if path.is_file() else {}

    def __repr__(self) -> str:
        return f"<log directory {self.path}>"
