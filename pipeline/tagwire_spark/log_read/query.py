"""A query of the source `kafka_log`, parsed from its options.

Options of Spark's own Kafka source have the same names here. A query is sent to workers with each split.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.names import partition_name
from tagwire.records import FormatError, FormatSet
from tagwire.records.format_set import AUTO, format_set
from tagwire.text_format import shown, whole_number
from tagwire_spark.columns.codec import OPTIONS as CODEC_OPTIONS
from tagwire_spark.columns.codec import Decoding, decoding
from tagwire_spark.files.store import NO_OPTIONS, StorageOptions
from tagwire_spark.options import MODES, NO_TABLES, Ignored, Options, invalid

OPTIONS: Final = (
    *("path", "paths", "level", "mode", "recordFormat", "onlyRecordFormat", "partial", "pushdown", "maxSplitBytes"),
    *("minPartitions", "storageOptions", "limits", "replicas", "includeHeaders"),
    *("includeControlRecords", "isolation.level", "respectLogStart", "failOnDataLoss"),
    *("subscribe", "subscribePattern", "assign"),
    *("startingOffsets", "endingOffsets", "startingTimestamp", "endingTimestamp"),
    *("recordsFromTimestamp", "recordsBeforeTimestamp"),
    *("startingOffsetsByTimestamp", "endingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy"),
    *("message", "version", "fields"),
    *(name for name in CODEC_OPTIONS if name not in ("mode", "versions")),
)
STREAM_OPTIONS: Final = (
    *("maxOffsetsPerTrigger", "maxBytesPerTrigger", "maxFilesPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay"),
)
_NOT_OF_STREAMS: Final = (
    *("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp", "recordsBeforeTimestamp", "partial", "pushdown"),
)
OF_BROKERS: Final = Ignored(
    re.compile(
        r"kafka\..+|groupidprefix|kafkaconsumer\.polltimeoutms|fetchoffset\.(numretries|retryintervalms)", re.IGNORECASE
    ),
    "kafka_log does not connect to a broker and ignores these options",
)
"""Spark's options for connecting to Kafka brokers."""
_OF_STREAMS: Final = Ignored(
    re.compile("|".join(STREAM_OPTIONS), re.IGNORECASE), "kafka_log ignores these options in batch reads"
)
_INSTEAD: Final = {
    "topic": "Unknown option 'topic'; did you mean 'subscribe'?",
    "topics": "Unknown option 'topics'; did you mean 'subscribe'?",
    "maxrecordsperpartition": "Option maxRecordsPerPartition is not supported, because it would require reading"
    " the offsets of all batches; instead, set maxSplitBytes, the number of bytes that a task reads.",
}
"""Maps unsupported options of Spark's Kafka source to error texts that suggest an alternative."""
EARLIEST: Final = -2
LATEST: Final = -1
_WORDS: Final = {"earliest": EARLIEST, "latest": LATEST}
ALL: Final = -1
"""A partition number that stands for all partitions of a topic."""
NO_OFFSET: Final = 1 << 63
"""A number greater than every offset. It stands for a missing end offset."""

Offsets = dict[tuple[str, int], int]
"""Maps (topic, partition number) to an offset."""


class LogQuery(NamedTuple):
    """What to read from log segments, and how. Offsets, times and filters that are None do not limit the read."""

    paths: tuple[str, ...]
    by_batch: bool = False
    permissive: bool = False
    formats: FormatSet = format_set(AUTO)
    limits: Limits = DEFAULT_LIMITS
    partial: bool = False
    """Whether to leave out an unfinished batch at a log's end."""
    split_bytes: int | None = None
    """Number of bytes that each task reads. If it is None, the number depends on the total size."""
    min_tasks: int = 1
    drops: bool = False
    """Whether to skip invalid batches silently. If only `permissive` is set, error rows report these batches."""
    control: bool = False
    committed: bool = False
    from_log_start: bool = False
    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    partitions: frozenset[tuple[str, int]] | None = None
    starts: Offsets | None = None
    ends: Offsets | None = None
    start_times: Offsets | int | None = None
    """Start time of each partition or a single start time, in milliseconds.

    Reading begins with the first record that is at or after the start time.
    """
    end_times: Offsets | int | None = None
    """End time of each partition or a single end time, in milliseconds.

    Reading ends before the first record that is at or after the end time.
    """
    future_is_error: bool = True
    """Whether to raise an error if a partition has no record at or after its start time. If false, it is skipped."""
    first_timestamp: int | None = None
    """Lowest requested timestamp, in milliseconds."""
    end_timestamp: int | None = None
    """End of the requested timestamps (exclusive), in milliseconds."""
    message: Decoding | None = None
    filtered_topics: tuple[str, ...] | None = None
    """The topics that filters allow. Filters can name topics that don't exist."""
    numbers: tuple[int, ...] | None = None
    """The partition numbers that filters allow, for any topic."""
    first_offset: int = 0
    end_offset: int = NO_OFFSET
    storage: StorageOptions = NO_OPTIONS
    fails_on_loss: bool = False
    longest: bool = False
    """Whether to read the longest of several replicas. If false, replicas are rejected."""
    has_headers: bool = True
    """Whether the default schema has the headers column."""
    pushdown: bool = False
    """Whether Spark's filters narrow the query."""

    def selects(self, topic: str, partition: int) -> bool:
        return (
            (self.topics is None or topic in self.topics)
            and (self.filtered_topics is None or topic in self.filtered_topics)
            and (self.pattern is None or re.fullmatch(self.pattern, topic) is not None)
            and (self.numbers is None or partition in self.numbers)
            and (self.partitions is None or (topic, partition) in self.partitions)
        )


def read_options(options: Mapping[str, Any], *, of_stream: bool) -> Options:
    """Check the names of a read's options. `kafka.isolation.level` means `isolation.level`.

    Raises PipelineError for an unknown option.
    """
    given: dict[str, Any] = {}
    for name, value in options.items():
        if name.lower() in _INSTEAD:
            raise invalid(_INSTEAD[name.lower()])
        if name.lower() == "kafka.isolation.level":
            given.setdefault("isolation.level", value)
        else:
            given[name] = value
    if of_stream:
        return Options(given, (*OPTIONS, *STREAM_OPTIONS), OF_BROKERS)
    return Options(given, OPTIONS, OF_BROKERS, _OF_STREAMS)


def time_of(times: Offsets | int | None, key: tuple[str, int]) -> int | None:
    """Return the time in milliseconds that the options set for a partition, or None if there is no such option."""
    return times if isinstance(times, int) else (times or {}).get(key)


def log_query(options: Any) -> LogQuery:
    """Parse a batch query from options. Raises PipelineError for unknown, invalid or contradictory options."""
    return parsed_query(read_options(options, of_stream=False), of_stream=False)


def parsed_query(read: Options, *, of_stream: bool) -> LogQuery:
    """Parse a query from `read_options`. Raises PipelineError for invalid or contradictory options."""
    chosen = [name for name in ("assign", "subscribe", "subscribePattern") if read.has(name)]
    if len(chosen) > 1:
        raise invalid(f"Options {' and '.join(chosen)} can't be combined; give one of them.")
    if chosen and not read.text(chosen[0]).strip(" ,"):
        raise invalid(f"Option {chosen[0]} is empty, so it selects no topic; leave out the option to read all topics.")
    for name in _NOT_OF_STREAMS if of_stream else ():
        if read.has(name):
            raise invalid(f"Option {name} can't be used with a stream, which has no end.")
    mode = read.choice("mode", (*MODES, "DROPMALFORMED"))
    if mode == "DROPMALFORMED" and read.has("message"):
        raise invalid(
            "Option 'message' can't be combined with mode=DROPMALFORMED, which drops records; use another mode."
        )
    starts = _offsets(read, "startingOffsets", {"earliest": EARLIEST} | ({"latest": LATEST} if of_stream else {}))
    ends = _offsets(read, "endingOffsets", {"latest": LATEST})
    start_times, end_times = _times(read, "starting"), _times(read, "ending")
    return LogQuery(
        paths=paths_of(read),
        by_batch=read.choice("level", ("record", "batch")) == "batch",
        permissive=mode != "FAILFAST",
        drops=mode == "DROPMALFORMED",
        formats=_formats(read),
        partial=read.flag("partial"),
        split_bytes=read.size("maxSplitBytes", 1),
        min_tasks=read.number("minPartitions", 1) or 1,
        control=read.flag("includeControlRecords"),
        committed=read.choice("isolation.level", ("read_uncommitted", "read_committed")) == "read_committed",
        from_log_start=read.flag("respectLogStart"),
        topics=read.names("subscribe"),
        pattern=_pattern(read),
        partitions=_assigned(read),
        starts=None if start_times is not None else starts,
        ends=None if end_times is not None else ends,
        start_times=start_times,
        end_times=end_times,
        future_is_error=read.choice("startingOffsetsByTimestampStrategy", ("error", "latest")) == "error",
        first_timestamp=_milliseconds(read, "recordsFromTimestamp"),
        end_timestamp=_milliseconds(read, "recordsBeforeTimestamp"),
        message=_message(read),
        storage=storage_options(read),
        fails_on_loss=read.flag("failOnDataLoss", default=True),
        limits=_limits(read),
        longest=read.choice("replicas", ("error", "longest")) == "longest",
        has_headers=read.flag("includeHeaders", default=True),
        pushdown=read.flag("pushdown"),
    )


def partition_key(folder: Path) -> tuple[str, int]:
    """Return the topic and partition number in a folder's name, or the name and -1 for any other name."""
    name = partition_name(folder.absolute())
    return (name.topic, name.partition) if name else (folder.name, -1)


def paths_of(options: Options) -> tuple[str, ...]:
    """Return the paths given to `load`. Raises PipelineError if no path was given."""
    if options.has("paths"):
        paths = options.json("paths")
        if not isinstance(paths, list) or not paths or not all(isinstance(each, str) for each in paths):
            raise invalid(f'Option paths: expected a JSON list of paths, such as ["a", "b"], got {shown(paths)}.')
        return tuple(paths)
    if options.text("path"):
        return (options.text("path"),)
    raise invalid(f"The path is missing; pass it to load() or save(), or set option 'path'. {NO_TABLES}")


def storage_options(options: Options) -> StorageOptions:
    """Parse the file system options for URLs. Raises PipelineError, without secrets, if they aren't a JSON object."""
    try:
        found = json.loads(options.text("storageOptions", "{}"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise invalid('Option storageOptions must be a JSON object of options for fsspec, such as {"anon": true}.')
    return StorageOptions(found)


def _formats(options: Options) -> FormatSet:
    try:
        return format_set(
            options.text("recordFormat", AUTO),
            only=options.flag("onlyRecordFormat"),
            strict=options.flag("strict", default=True),
        )
    except FormatError as error:
        raise invalid(f"Option recordFormat or onlyRecordFormat: {error}.") from None


def _pattern(options: Options) -> str | None:
    text = options.text("subscribePattern") or None
    try:
        re.compile(text or "")
    except re.error as error:
        raise invalid(f"Option subscribePattern is not a valid regular expression: {error}.") from None
    return text


def _assigned(options: Options) -> frozenset[tuple[str, int]] | None:
    if not options.has("assign"):
        return None
    value = options.json("assign")
    try:
        if all(isinstance(partitions, list) for partitions in value.values()):  # reject strings, which are iterable
            pairs = ((topic, _whole(each)) for topic, partitions in value.items() for each in partitions)
            if (found := frozenset(pairs)) and all(partition >= 0 for _, partition in found):
                return found
        raise TypeError
    except (AttributeError, TypeError):
        expected = 'a JSON object of topics with their partition numbers, such as {"topic": [0, 1]}'
        raise invalid(f"Option assign: expected {expected}, got {shown(value)}.") from None


def _offsets(options: Options, name: str, words: dict[str, int]) -> Offsets | None:
    """Parse an option for offsets: a word such as `earliest` for all partitions, or JSON like {"topic": {"0": 23}}.

    `words` maps each accepted word to its number in JSON, such as {"earliest": -2}. Partitions with the number of the
    first word are left out of the result. Returns None if the option is a word.
    """
    word, number = next(iter(words.items()))
    if options.text(name, word).lower() in words:
        return None
    found = _by_partition(options, name, ", ".join([*words, 'or JSON such as {"topic": {"0": 23}}']), _WORDS)
    for (topic, partition), offset in found.items():
        if offset >= NO_OFFSET or (offset < 0 and offset not in words.values()):
            where = topic if partition == ALL else f"{topic}-{partition}"
            known = " or ".join(f"{each} ({key})" for key, each in words.items())
            raise invalid(f"Option {name}: {where}: expected an offset or {known}, got {offset}.")
    return {key: offset for key, offset in found.items() if offset != number}


def _by_partition(options: Options, name: str, expected: str, words: Mapping[str, int]) -> dict[tuple[str, int], int]:
    """Parse a JSON object such as {"topic": {"0": 23}}. Raises PipelineError for anything else.

    The result is {("topic", 0): 23}. If `words` is {"earliest": -2}, the result for {"topic": "earliest"} is
    {("topic", ALL): -2}.
    """
    try:
        value = json.loads(options.text(name))
        return {
            (topic, _partition(partition)): _whole(number)
            for topic, numbers in value.items()
            for partition, number in ({ALL: words[numbers]} if isinstance(numbers, str) else numbers).items()
        }
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise invalid(f"Option {name}: expected {expected}, got {shown(options.text(name))}.") from None


def _times(options: Options, side: str) -> Offsets | int | None:
    """Parse the start or end times of a read, in milliseconds. `side` is "starting" or "ending".

    As in Spark's Kafka source, a time for all partitions overrides the times of single partitions.
    """
    if options.has(f"{side}Timestamp"):
        return _milliseconds(options, f"{side}Timestamp")
    name = f"{side}OffsetsByTimestamp"
    if not options.has(name):
        return None
    found = _by_partition(options, name, 'JSON with times in milliseconds, such as {"topic": {"0": 1700000000000}}', {})
    for (topic, partition), time in found.items():
        if not 0 <= time < NO_OFFSET:
            raise invalid(f"Option {name}: {topic}-{partition}: expected 0 milliseconds or more, got {time}.")
    return found


def _partition(key: Any) -> int:
    if key != ALL and not key.isdecimal():
        raise ValueError
    return int(key)


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError
    return value


def _limits(options: Options) -> Limits:
    """Parse the option `limits` for decoding: `name=number,name=number`."""
    values = {}
    for part in options.names("limits") or ():
        name, _, text = part.partition("=")
        number = whole_number(text.strip())
        if name.strip() not in Limits.names() or number is None:
            known = ", ".join(Limits.names())
            raise invalid(f"Option limits: expected name=number, where name is one of {known}, got {shown(part)}.")
        values[name.strip()] = number
    return Limits(**values) if values else DEFAULT_LIMITS


def _milliseconds(options: Options, name: str) -> int | None:
    value = options.number(name)
    if value is not None and not -NO_OFFSET <= value < NO_OFFSET:
        raise invalid(f"Option {name}: expected a 64-bit number of milliseconds, got {shown(value)}.")
    return value


def _message(options: Options) -> Decoding | None:
    """Return how to decode values, or None if option `message` isn't set. Raises PipelineError for bad options."""
    if not options.has("message"):
        for name in ("version", "fields"):
            if options.has(name):
                raise invalid(f"Option {name!r} needs option 'message', the name of the message in record values.")
        return None
    version = options.number("version")
    if version is None:
        raise invalid("Option 'message' needs option 'version', the version of the message in record values.")
    codec = {name: options.text(name) for name in CODEC_OPTIONS if name != "versions" and options.has(name)}
    return decoding(options.text("message"), version, codec, options.names("fields"))
