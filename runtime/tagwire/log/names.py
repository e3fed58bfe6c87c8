"""Parse the names of a log's files and folders.

    alpha-0/00000000000000000091.log           segment of topic alpha, partition 0, whose first offset is 91
            00000000000000000091.index         its offset index; likewise .timeindex and .txnindex
            00000000000000000091.snapshot      the state of the producers at offset 91
            00000000000000000091.log.deleted   no longer part of the log
            00000000000000000091.log.swap      a compacted segment that is about to replace its source segments
            00000000000000000091.log.cleaned   a segment whose compaction was not finished
            00000000000000000091-0000000003.checkpoint   snapshot of a metadata log: offset and epoch
    alpha-0.<32 hex digits>-delete             a partition that is being deleted
    alpha-0.<32 hex digits>-future             a partition that is being moved from another disk
    alpha-0.<32 hex digits>-stray              a partition that is unknown to the cluster

In Kafka's local tiered storage, folder names end with the topic ID. This ID never ends in a digit, so it isn't mistaken
for a partition number. File names consist of the first offset, with or without leading zeros, and the ID of the copy:

    alpha-0-Xb3mTo8fQTWLbVhNcLx3VA/91-u7nQ6ZwPTuyz3Aqdmha0Tw.log     a copy of the segment
                                   91-u7nQ6ZwPTuyz3Aqdmha0Tw.index   its offset index; likewise .timeindex and .txnindex
                                   91-u7nQ6ZwPTuyz3Aqdmha0Tw.snapshot   producers after the segment's last record
                                   91-u7nQ6ZwPTuyz3Aqdmha0Tw.leader_epoch_checkpoint
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

_ID: Final = "[A-Za-z0-9_-]{21}[AQgw]"  # 16 bytes in base64
_FILE: Final = re.compile(
    r"(?P<offset>\d{20}(-(?P<epoch>\d{10}))?|\d{1,20}-(?P<copy>[A-Za-z0-9_-]{22}))"
    r"\.(?P<kind>log|index|timeindex|txnindex|snapshot|checkpoint|leader_epoch_checkpoint)"
    r"(\.(?P<state>deleted|swap|cleaned))?",
    re.ASCII,
)
_PARTITION: Final = re.compile(
    rf"(?P<topic>.+)-(?P<partition>\d+)(\.[0-9a-f]{{32}}-(?P<state>delete|future|stray)|-(?P<id>{_ID}))?", re.ASCII
)
INDEXES: Final = ("index", "timeindex", "txnindex")
"""The kinds of index files."""
_CACHED: Final = 1 << 14
"""The maximum number of cached names. Caching helps, because many partitions have files with the same names."""


class LogFile(NamedTuple):
    """The parts of a file name in a partition folder."""

    base_offset: int
    kind: str
    """The kind: log, index, timeindex, txnindex, snapshot, checkpoint or leader_epoch_checkpoint (tiered storage)."""
    state: str
    """The state: deleted, swap, cleaned, or an empty string."""
    epoch: int | None
    is_copy: bool = False
    """Whether the file is a copy in tiered storage."""


class PartitionName(NamedTuple):
    """The parts of a partition folder's name."""

    topic: str
    partition: int
    state: str
    """The state: delete, future, stray, or an empty string."""
    topic_id: str = ""
    """The topic ID in tiered storage, in URL-safe base64."""


def log_file(path: Path | str) -> LogFile | None:
    """Parse a file name, or the last part of a path. Return None if it isn't the name of a `LogFile`."""
    return _log_file(path if isinstance(path, str) else path.name)


@lru_cache(_CACHED)
def _log_file(text: str) -> LogFile | None:
    match = _FILE.fullmatch(text)
    if match is None or (match["epoch"] is None) == (match["kind"] == "checkpoint"):
        return None
    epoch = None if match["epoch"] is None else int(match["epoch"])
    offset = match["offset"].partition("-")[0]
    return LogFile(int(offset), match["kind"], match["state"] or "", epoch, match["copy"] is not None)


def partition_name(path: Path) -> PartitionName | None:
    """Parse the name of a folder. Return None if it isn't the name of a partition."""
    return _partition_name(path.name)


@lru_cache(_CACHED)
def _partition_name(text: str) -> PartitionName | None:
    match = _PARTITION.fullmatch(text)
    return match and PartitionName(match["topic"], int(match["partition"]), match["state"] or "", match["id"] or "")


def segment_file(base_offset: int, kind: str) -> str:
    """Return the name of a segment file, or of one of its index files, for this base offset."""
    return f"{base_offset:020}.{kind}"
