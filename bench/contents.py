"""The contents of the benchmark messages, as plain data from which every library builds its own objects.

These are the messages that brokers and clients exchange most often. Broker and partition numbers are small, as in real
clusters: CPython preallocates the ints from -5 to 256.
"""

from random import Random
from typing import NamedTuple
from uuid import UUID

__all__ = [
    "ApiVersions",
    "Fetch",
    "Heartbeat",
    "Metadata",
    "OffsetCommit",
    "Produce",
    "api_versions",
    "fetch",
    "heartbeat",
    "metadata",
    "offset_commit",
    "produce",
]

_TOPICS = 10
_PARTITIONS = 10
_RECORDS = Random(2025).randbytes(1024)
"""The bytes of a partition's record batches. They can be random, because no library in the benchmark parses them."""


class ApiVersions(NamedTuple):
    """The content of an ApiVersionsResponse."""

    error_code: int
    api_keys: list[tuple[int, int, int]]
    """A tuple for each API: its key, lowest version and highest version."""
    throttle_time_ms: int


class Broker(NamedTuple):
    """A broker in a MetadataResponse."""

    node_id: int
    host: str
    port: int
    rack: str


class Partition(NamedTuple):
    """A partition in a MetadataResponse."""

    error_code: int
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: list[int]
    isr_nodes: list[int]
    offline_replicas: list[int]


class Topic(NamedTuple):
    """A topic in a MetadataResponse."""

    error_code: int
    name: str
    topic_id: UUID
    is_internal: bool
    partitions: list[Partition]


class Metadata(NamedTuple):
    """The content of a MetadataResponse."""

    throttle_time_ms: int
    brokers: list[Broker]
    cluster_id: str
    controller_id: int
    topics: list[Topic]


class Produce(NamedTuple):
    """The content of a ProduceRequest."""

    transactional_id: str | None
    acks: int
    timeout_ms: int
    topics: list[tuple[str, list[tuple[int, bytes]]]]
    """Each topic is a pair (name, partitions), and each partition is a pair (index, record batches)."""


class FetchedPartition(NamedTuple):
    """A partition in a FetchResponse."""

    partition_index: int
    error_code: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted_transactions: None
    preferred_read_replica: int
    records: bytes


class Fetch(NamedTuple):
    """The content of a FetchResponse."""

    throttle_time_ms: int
    error_code: int
    session_id: int
    topics: list[tuple[str, list[FetchedPartition]]]


class CommittedPartition(NamedTuple):
    """A partition in an OffsetCommitRequest."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str


class OffsetCommit(NamedTuple):
    """The content of an OffsetCommitRequest."""

    group_id: str
    generation: int
    member_id: str
    group_instance_id: str | None
    topics: list[tuple[str, list[CommittedPartition]]]


class Heartbeat(NamedTuple):
    """The content of a HeartbeatResponse."""

    throttle_time_ms: int
    error_code: int


def api_versions() -> ApiVersions:
    """Return the ApiVersionsResponse of a broker with 60 APIs."""
    return ApiVersions(0, [(key, key % 3, 3 + key % 15) for key in range(60)], 123)


def metadata(topics: int = 1000, partitions: int = 12, brokers: int = 20) -> Metadata:
    """Return the MetadataResponse of a cluster: 20 brokers, and 1,000 topics of 12 partitions with three replicas."""
    random = Random(7)
    return Metadata(
        0,
        [Broker(number, f"broker-{number}.kafka.example.com", 9092, f"rack-{number % 3}") for number in range(brokers)],
        "cluster-5K2x8QFbTvG0sY1m",
        3,
        [_topic(number, partitions, brokers, random) for number in range(topics)],
    )


def _topic(number: int, partitions: int, brokers: int, random: Random) -> Topic:
    topic_id = UUID(int=random.getrandbits(128), version=4)
    with_replicas = []
    for index in range(partitions):
        replicas = [(number + index + step) % brokers for step in range(3)]
        with_replicas.append(Partition(0, index, replicas[0], 5 + number % 7, replicas, list(replicas), []))
    return Topic(0, f"topic-{number:05d}-events", topic_id, False, with_replicas)


def produce() -> Produce:
    """Return a ProduceRequest for 10 topics of 10 partitions, with 1 KiB of records for each partition."""
    return Produce(None, -1, 30000, [(f"topic-{topic}", _batches()) for topic in range(_TOPICS)])


def _batches() -> list[tuple[int, bytes]]:
    return [(index, _RECORDS) for index in range(_PARTITIONS)]


def fetch() -> Fetch:
    """Return a FetchResponse for 10 topics of 10 partitions, with 1 KiB of records for each partition."""
    partitions = [
        FetchedPartition(index, 0, 100000 + index, 99990 + index, 10, None, -1, _RECORDS)
        for index in range(_PARTITIONS)
    ]
    return Fetch(0, 0, 77, [(f"topic-{topic}", partitions) for topic in range(_TOPICS)])


def offset_commit() -> OffsetCommit:
    """Return the OffsetCommitRequest of a consumer with 100 partitions of one topic."""
    partitions = [CommittedPartition(index, 1_000_000 + index * 37, 7, "meta") for index in range(100)]
    member = "member-9c9b3a6e-7d0e-4d55-8b3c-0a3f9b7f5f11"
    return OffsetCommit("my-consumer-group", 42, member, None, [("topic-orders", partitions)])


def heartbeat() -> Heartbeat:
    """Return a HeartbeatResponse, the smallest response."""
    return Heartbeat(0, 0)
