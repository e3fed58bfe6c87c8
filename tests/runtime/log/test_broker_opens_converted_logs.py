"""Start a Kafka broker with converted logs, and read the original records from them with Kafka's client.

If `tagwire_spark` is installed, logs that it writes are tested, too. These tests take half a minute, and need Java 17
and Maven.
"""

import shutil
import socket
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tagwire import log
from tagwire.log.convert import Conversion, convert_partition
from tagwire.log.rebatching import BatchSize
from tagwire.records import Record

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("OpenLogs.java")
CLUSTER = "dGFnd2lyZS10ZXN0cy0wMQ"
SETTINGS = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{broker}
controller.listener.names=CONTROLLER
log.dirs={logs}
log.retention.ms=-1
num.network.threads=1
num.io.threads=2
"""
LOGS = {  # new topic: (source log, conversion)
    "txn": ("kafka4/alpha-txn-many-0", Conversion("v2", "zstd", BatchSize(records=3))),
    "upgraded": ("kafka28/alpha-upgrade2-0", Conversion("v2", "lz4", BatchSize(bytes=2000))),
    "segments": ("kafka28/alpha-m0-segs-0", Conversion("v2", "none", BatchSize(bytes=65536))),
    "compacted": ("kafka4/alpha-compact-txn-0", Conversion("v2", "gzip")),
}
WRITTEN = {  # maps each new topic to its source log and the options of the Spark sink
    "spark-txn": ("kafka4/alpha-txn-many-0", {"segmentBytes": "2000"}),
    "spark-upgraded": ("kafka28/alpha-upgrade2-0", {"recordFormat": "v2", "compression": "zstd", "batchRecords": "7"}),
}


class Broker:
    def __init__(self, jars: Path, folder: Path) -> None:
        self.jars = jars
        self.logs = folder / "data"
        self.settings = folder / "server.properties"
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            other.bind(("127.0.0.1", 0))
            ports = one.getsockname()[1], other.getsockname()[1]
        self.settings.write_text(SETTINGS.format(broker=ports[0], controller=ports[1], logs=self.logs))
        self._java("kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(self.settings))

    def run(self, what: str, *topics: str) -> list[list[str]]:
        return [line.split(" ") for line in self._java(str(PROGRAM), what, str(self.settings), *topics).splitlines()]

    def _java(self, *arguments: str) -> str:
        command = ["java", "-cp", f"{self.jars}/*", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def aborted(partition: log.Partition) -> Iterator[tuple[int, range]]:
    for segment in partition.segments:
        for entry in segment.aborted_transactions:
            yield entry.producer_id, range(entry.first_offset, entry.last_offset)


def expected(partition: log.Partition, level: str) -> list[tuple[int, int, bytes | None, bytes | None]]:
    aborted_ranges = list(aborted(partition)) if level == "read_committed" else []

    def is_seen(producer: int, record: Record) -> bool:
        return not any(producer == each and record.offset in offsets for each, offsets in aborted_ranges)

    return [
        (record.offset, record.timestamp, record.key, record.value)
        for batch in partition.batches()
        if not batch.is_control
        for record in batch
        if not batch.is_transactional or is_seen(batch.producer_id, record)
    ]


def write_by_pipeline(source: Path, folder: Path, topic: str, options: dict[str, str]) -> None:
    """Rewrite a topic that the broker created. This calls the code of the Spark sink directly, without Spark."""
    from tagwire_spark.log_read.query import log_query
    from tagwire_spark.log_read.rows import full_schema, rows_of
    from tagwire_spark.log_read.splits import plan
    from tagwire_spark.log_write.driver import LogWriter
    from tagwire_spark.log_write.target import log_target

    query = log_query({"path": str(source), "includeControlRecords": "true"})
    rows = (batch for split in plan(query) for batch in rows_of(split, query, full_schema(query)))
    target = log_target({"path": str(folder), "topic": topic, "partitionOverwriteMode": "dynamic", **options})
    writer = LogWriter(target, overwrite=True)
    writer.commit([writer.write(rows)])


def value_of(text: str) -> bytes | None:
    return None if text == "null" else b64decode(text[1:])


def test_a_broker_opens_converted_logs(jars: Path, logs: Path, tmp_path: Path) -> None:
    broker = Broker(jars, tmp_path)
    sources = {topic: source for topic, (source, _) in LOGS.items()}
    if find_spec("pyspark"):
        sources |= {topic: source for topic, (source, _) in WRITTEN.items()}
    ids = {words[1]: words[2] for words in broker.run("create", *sources) if words[0] == "topic"}
    for topic, (source, conversion) in LOGS.items():
        folder = broker.logs / f"{topic}-0"
        shutil.rmtree(folder)
        convert_partition(log.Partition(logs / source), folder, conversion)
        (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {ids[topic]}")
    for topic in sources.keys() & WRITTEN.keys():
        write_by_pipeline(logs / sources[topic], broker.logs, topic, WRITTEN[topic][1])
    indexes = {path: path.read_bytes() for path in broker.logs.rglob("*.index") if path.parent.name[:-2] in sources}
    found: dict[tuple[str, str], list[tuple[int, int, bytes | None, bytes | None]]] = {}
    for words in broker.run("read", *sources):
        if words[0] == "record":
            row = int(words[3]), int(words[4]), value_of(words[5]), value_of(words[6])
            found.setdefault((words[2], words[1]), []).append(row)
    for topic, source in sources.items():
        for level in ("read_uncommitted", "read_committed"):
            assert found.get((topic, level), []) == expected(log.Partition(logs / source), level), (topic, level)
    # Check that the broker accepted the indexes. It would have rebuilt an index that it rejects.
    assert {path: path.read_bytes() for path in indexes if path.read_bytes() != b""} == {
        path: data for path, data in indexes.items() if data != b""
    }
