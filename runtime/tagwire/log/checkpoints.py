"""Read the small text files in which brokers keep the state of logs between restarts: checkpoints and properties.

The first line of a checkpoint is its version, the second the number of entries, and each further line an entry.
A checkpoint is empty until a broker first writes it. `meta.properties` and `partition.metadata` are Java properties
files. Errors contain the byte offset of the invalid line.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn
from uuid import UUID, uuid4

from tagwire.log.errors import LogProblem, Problems, reject
from tagwire.log.indexes import read_file
from tagwire.text_format import count, shown, whole_number

_RULE: Final = "TWL241"
_VERSION: Final = 0
_MOST_BYTES: Final = 1 << 24
"""The maximum size of a file in bytes: enough for the offsets of about 400,000 partitions."""
# Python compiles these patterns when they are first used, because most commands on logs read no such file.
_LINE: Final = rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+"
_BLANKS: Final = " \t\f"
_PROPERTY_LINE: Final = rf"(?s)[{_BLANKS}]*[#!][^\r\n]*|((?:[^\\\r\n]|\\(?:\r\n|.|\Z))+)"
"""A pattern that matches a comment in a properties file, or (as group 1) a property with its continuation lines."""
_CONTINUATION: Final = rf"\\(?:\r\n|[\r\n]|\Z)[{_BLANKS}]*"
_PROPERTY: Final = rf"(?s)((?:[^\\=:{_BLANKS}]|\\.)*)[{_BLANKS}]*[=:][{_BLANKS}]*(.*)"
_ESCAPE: Final = r"(?s)\\(?:u([0-9a-fA-F]{4})|(.))"
_BAD_ESCAPE: Final = r"(?<!\\)(?:\\\\)*\\u(?![0-9a-fA-F]{4})"
_TOPIC_ID: Final = r"[A-Za-z0-9_-]{22}"
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class EpochStart(NamedTuple):
    """An entry of a leader epoch checkpoint: an epoch and its first offset."""

    epoch: int
    start_offset: int


def read_leader_epochs(path: Path) -> list[EpochStart]:
    """Return the entries of a `leader-epoch-checkpoint` file. Raises LogError if it is invalid."""
    return [start for _, start in _positioned_leader_epochs(path)]


def _positioned_leader_epochs(path: Path) -> Iterator[tuple[int, EpochStart]]:
    """Yield (byte offset of the line, entry) for each entry of a `leader-epoch-checkpoint` file.

    Raises LogError at an invalid line.
    """
    for at, (epoch, offset) in _entries(path, "an epoch and a start offset", 2):
        yield at, EpochStart(_number(path, at, epoch), _number(path, at, offset))


def epoch_at(starts: list[EpochStart], offset: int) -> int | None:
    """Return the epoch of a record, given the entries of a leader epoch checkpoint in order, or None if unknown."""
    at = bisect_right(starts, offset, key=lambda start: start.start_offset)
    return starts[at - 1].epoch if at else None


def with_later_epochs(known: Iterable[EpochStart], starts: Iterable[EpochStart]) -> list[EpochStart]:
    """Return the entries of a leader epoch checkpoint, plus each of `starts` that begins a later epoch."""
    found = list(known)
    for start in starts:
        if not found or start.epoch > found[-1].epoch:
            found.append(start)
    return found


def leader_epoch_problems(path: Path) -> list[LogProblem]:
    """Return a problem for each entry of a leader epoch checkpoint that is out of order.

    Raises LogError for an invalid file.
    """
    problems = Problems()
    before = None
    for at, start in _positioned_leader_epochs(path):
        if before and not (before.epoch < start.epoch and before.start_offset <= start.start_offset):
            what = (
                f"epoch {start.epoch} from offset {start.start_offset}, after {before.epoch} from {before.start_offset}"
            )
            problems.add(at, "TWL242", what)
        before = start
    return problems.rows()


def read_offsets(path: Path) -> dict[TopicPartition, int]:
    """Return the entries of an offset checkpoint: `log-start-offset-checkpoint`, `recovery-point-offset-checkpoint`,
    `replication-offset-checkpoint` or `cleaner-offset-checkpoint`. Raises LogError if the file is invalid.
    """
    return {
        TopicPartition(topic, _number(path, at, partition)): _number(path, at, offset)
        for at, (topic, partition, offset) in _entries(path, "a topic, a partition and an offset", 3)
    }


def write_offsets(path: Path, offsets: dict[TopicPartition, int]) -> None:
    """Write an offset checkpoint in the format that brokers read."""
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    draft.write_bytes(checkpoint_bytes((*each, offset) for each, offset in offsets.items()))
    draft.replace(path)  # `replace` is atomic


def checkpoint_bytes(entries: Iterable[Iterable[object]]) -> bytes:
    """Return the bytes of a checkpoint with these entries."""
    lines = [" ".join(map(str, each)) for each in entries]
    return "".join(f"{line}\n" for line in (_VERSION, len(lines), *lines)).encode()


def read_properties(path: Path) -> dict[str, str]:
    """Return the entries of a Java properties file, such as `meta.properties` or `partition.metadata`."""
    found = {}
    for match in re.finditer(_PROPERTY_LINE, read_file(path, _RULE, _MOST_BYTES).decode("latin-1")):
        line = re.sub(_CONTINUATION, "", match[0].lstrip(_BLANKS)) if match[1] else ""
        entry = re.fullmatch(_PROPERTY, line)
        if entry is not None and not re.search(_BAD_ESCAPE, line):
            found[_unescaped(entry[1])] = _unescaped(entry[2])
        elif line:
            _reject(path, match.start(), line, "a Java property, such as name=value or name:value")
    return found


def read_topic_id(path: Path) -> UUID | None:
    """Return the topic ID in a `partition.metadata` file, or None if it has none. Raises LogError if it is invalid."""
    text = read_properties(path).get("topic_id", "")
    if text and not re.fullmatch(_TOPIC_ID, text):
        reject(str(path), _RULE, 0, f"topic_id {shown(text)}", "22 characters of URL-safe base64")
    return topic_id_of(text) if text else None


def topic_id_of(text: str) -> UUID:
    """Convert a topic ID from URL-safe base64."""
    from base64 import urlsafe_b64decode

    return UUID(bytes=urlsafe_b64decode(f"{text}=="))


def _unescaped(text: str) -> str:
    """Replace the escapes of a properties file. Two \\uXXXX escapes can form a surrogate pair."""
    plain = re.sub(
        _ESCAPE, lambda found: chr(int(found[1], 16)) if found[1] else _CONTROLS.get(found[2], found[2]), text
    )
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file such as `quorum-state`. Raises LogError if the file isn't a JSON object."""
    import json

    data = read_file(path, _RULE, _MOST_BYTES)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        reject(str(path), _RULE, 0, f"{count(len(data), 'byte')} that are not a JSON object", "a JSON object")
    return found


def _entries(path: Path, what: str, width: int) -> Iterator[tuple[int, list[str]]]:
    """Check the version and the count of a checkpoint. Yield (byte offset of the line, words) for each entry.

    Each entry must have `width` words. `what` describes a valid entry in error messages.
    """
    data = read_file(path, _RULE, _MOST_BYTES)
    lines = _lines(path, data)
    if not data:  # as in Kafka's CheckpointFile, an empty file is valid
        return
    for expected in ("a version", "the number of entries"):
        at, text = next(lines, (-1, ""))
        if at < 0:
            reject(str(path), _RULE, 0, "the end of the file", expected)
        number = _number(path, at, text)
        if expected == "a version" and number != _VERSION:
            _reject(path, at, text, f"version {_VERSION}")
        if expected != "a version" and number != (left := sum(1 for _ in _lines(path, data)) - 2):
            _reject(path, at, text, f"an entry count of {left}")
    for at, line in lines:
        words = line.split(" ")
        if len(words) != width or not all(words):
            _reject(path, at, line, what)
        yield at, words


def _lines(path: Path, data: bytes) -> Iterator[tuple[int, str]]:
    for match in re.finditer(_LINE, data):
        line = match[0]
        try:
            yield match.start(), line.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            found = f"byte 0x{line[error.start]:02x}"
            reject(str(path), _RULE, match.start() + error.start, found, "text in UTF-8")


def _number(path: Path, at: int, text: str) -> int:
    if whole_number(text.removeprefix("-")) is None:
        _reject(path, at, text, "a number")
    return int(text)


def _reject(path: Path, at: int, line: str, expected: str) -> NoReturn:
    reject(str(path), _RULE, at, shown(line), expected)
