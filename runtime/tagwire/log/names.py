"""What the names of files and folders of a log say.

alpha-0/00000000000000000091.log          segment of topic alpha, partition 0, whose first offset is 91
        00000000000000000091.index        and so on: indexes and the producers' state at this offset
        00000000000000000091.log.deleted  no longer a part of the log
        00000000000000000091.log.swap     cleaned, about to replace the segments it was made from
        00000000000000000091.log.cleaned  cleaning was not finished
        00000000000000000091-0000000003.checkpoint     snapshot of a metadata log: offset and epoch
alpha-0.<32 hex digits>-delete            a partition that is going, coming from another disk (-future), or that
                                          nobody knows (-stray)

Kafka's local tiered storage has the topic's id in the folder's name, and the first offset, with or
without zeros, and the copy's id in the names of files. Such an id never ends in a digit:

alpha-0-Xb3mTo8fQTWLbVhNcLx3VA/91-u7nQ6ZwPTuyz3Aqdmha0Tw.log        a copy of the segment
                               91-u7nQ6ZwPTuyz3Aqdmha0Tw.index      and so on; .snapshot has the producers' state behind
                               91-u7nQ6ZwPTuyz3Aqdmha0Tw.leader_epoch_checkpoint                       its last record
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

_ID: Final = "[A-Za-z0-9_-]{21}[AQgw]"  # 16 bytes are 21 characters and two bits
_FILE: Final = re.compile(
    r"(?P<offset>\d{20}(-(?P<epoch>\d{10}))?|\d{1,20}-(?P<copy>[A-Za-z0-9_-]{22}))"
    r"\.(?P<kind>log|index|timeindex|txnindex|snapshot|checkpoint|leader_epoch_checkpoint)"
    r"(\.(?P<state>deleted|swap|cleaned))?",
    re.ASCII,
)
_PARTITION: Final = re.compile(
    rf"(?P<topic>.+)-(?P<partition>\d+)(\.[0-9a-f]{{32}}-(?P<state>delete|future|stray)|-(?P<id>{_ID}))?", re.ASCII
)


class LogFile(NamedTuple):
    """A file of a partition by its name."""

    base_offset: int
    kind: str
    """log, index, timeindex, txnindex, snapshot or checkpoint; in tiered storage leader_epoch_checkpoint as well."""
    state: str
    """deleted, swap, cleaned, or nothing."""
    epoch: int | None
    """Of the snapshot of a metadata log."""
    is_copy: bool = False
    """Whether it is a copy in tiered storage."""


class PartitionName(NamedTuple):
    """A partition by the name of its folder."""

    topic: str
    partition: int
    state: str
    """delete, future, stray, or nothing."""
    topic_id: str = ""
    """In tiered storage, in URL-safe base64."""


def log_file(path: Path | str) -> LogFile | None:
    """What the name of a file says, given as a Path, or alone as text; None if it is no partition's numbered file."""
    match = _FILE.fullmatch(path if isinstance(path, str) else path.name)
    if match is None or (match["epoch"] is None) == (match["kind"] == "checkpoint"):
        return None
    epoch = None if match["epoch"] is None else int(match["epoch"])
    offset = match["offset"].partition("-")[0]
    return LogFile(int(offset), match["kind"], match["state"] or "", epoch, match["copy"] is not None)


def partition_name(path: Path) -> PartitionName | None:
    """What the name of a folder says; None if it is no partition's."""
    match = _PARTITION.fullmatch(path.name)
    return match and PartitionName(match["topic"], int(match["partition"]), match["state"] or "", match["id"] or "")


def segment_file(base_offset: int, kind: str) -> str:
    """The name of a segment's file."""
    return f"{base_offset:020}.{kind}"
