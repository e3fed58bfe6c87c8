"""What the names of files and folders of a log say.

alpha-0/00000000000000000091.log          segment of topic alpha, partition 0, whose first offset is 91
        00000000000000000091.index        and so on: indexes and the producers' state at this offset
        00000000000000000091.log.deleted  no longer a part of the log
        00000000000000000091.log.swap     cleaned, about to replace the segments it was made from
        00000000000000000091.log.cleaned  cleaning was not finished
        00000000000000000091-0000000003.checkpoint     snapshot of a metadata log: offset and epoch
alpha-0.<32 hex digits>-delete            a partition that is going, coming from another disk (-future), or that
                                          nobody knows (-stray)

A tiered storage keeps what was copied to it under the first offset and the id of the copy:

        00000000000000000091-u7nQ6ZwPTuyz3Aqdmha0Tw.log
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["LogFile", "PartitionName", "log_file", "partition_name", "segment_file"]

_FILE: Final = re.compile(
    r"(?P<offset>\d{20})(-((?P<epoch>\d{10})|[A-Za-z0-9_-]{22}))?"
    r"\.(?P<kind>log|index|timeindex|txnindex|snapshot|checkpoint)"
    r"(\.(?P<state>deleted|swap|cleaned))?",
    re.ASCII,
)
_PARTITION: Final = re.compile(
    r"(?P<topic>.+)-(?P<partition>\d+)(\.[0-9a-f]{32}-(?P<state>delete|future|stray))?", re.ASCII
)


class LogFile(NamedTuple):
    """A file of a partition by its name."""

    base_offset: int
    kind: str
    """log, index, timeindex, txnindex, snapshot or checkpoint."""
    state: str
    """deleted, swap, cleaned, or nothing."""
    epoch: int | None
    """Of the snapshot of a metadata log."""


class PartitionName(NamedTuple):
    """A partition by the name of its folder."""

    topic: str
    partition: int
    state: str
    """delete, future, stray, or nothing."""


def log_file(path: Path) -> LogFile | None:
    """What the name of a file says; None if it is no name of a partition's numbered file."""
    match = _FILE.fullmatch(path.name)
    if match is None or (match["epoch"] is None) == (match["kind"] == "checkpoint"):
        return None
    epoch = None if match["epoch"] is None else int(match["epoch"])
    return LogFile(int(match["offset"]), match["kind"], match["state"] or "", epoch)


def partition_name(path: Path) -> PartitionName | None:
    """What the name of a folder says; None if it is no partition's."""
    match = _PARTITION.fullmatch(path.name)
    return match and PartitionName(match["topic"], int(match["partition"]), match["state"] or "")


def segment_file(base_offset: int, kind: str) -> str:
    """The name of a segment's file."""
    return f"{base_offset:020}.{kind}"
