import time
from collections.abc import Iterator
from typing import Any

import pytest
from bucket_writes import Bucket, rows, values
from object_storage import ConditionalFileSystem, s3_server

from tagwire_spark import PipelineError
from tagwire_spark.files import commit
from tagwire_spark.files.store import ConditionalObjects, store
from tagwire_spark.log_write.driver import LogWriter
from tagwire_spark.log_write.target import log_target

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Any, dict[str, Any]]]:
    with s3_server() as (system, options, _):
        yield system, options


@pytest.fixture
def s3(server: Any, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    monkeypatch.setattr(commit, "_PATIENCE", 0.0)
    system, options = server
    return Bucket(system, f"s3://logs/{time.monotonic_ns()}", options)


def test_a_store_that_ignores_conditions(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    url = bucket.new()
    monkeypatch.setattr(ConditionalFileSystem, "keeps_conditions", False)
    with pytest.raises(PipelineError, match=rf"KAFKA_LOG_WRITE_FAILED.*{url}: commits need conditional puts, but this"):
        bucket.writer(url)
    assert bucket.names(url) == []


@pytest.mark.parametrize("url", ["memory://logs/k", "https://localhost/k"])
def test_a_file_system_without_conditions(bucket: Bucket, url: str) -> None:
    with pytest.raises(PipelineError, match=rf"KAFKA_LOG_WRITE_FAILED.*{url}.*fsspec does not support") as rejected:
        LogWriter(log_target({"path": url}), overwrite=False)
    assert "very-hidden" not in str(rejected.value)


@pytest.mark.thorough
def test_conditional_writes_on_s3(s3: Bucket) -> None:
    """On an S3 server, check two concurrent appends, a micro-batch that is written twice, and an overwrite."""
    url = s3.new()
    s3.write(url, values(b"a"))
    first, second = s3.writer(url), s3.writer(url)
    of_first, of_second = [first.write(iter(values(b"b")))], [second.write(iter(values(b"c")))]
    first.commit(of_first)
    second.commit(of_second)
    for _ in range(2):
        s3.write(url, values(b"d"), batchId="1", queryId="q")
    assert s3.read(url) == {"t-0": [b"a", b"b", b"c", b"d"]} and s3.hidden(url) == []
    s3.write(url, rows("t", 0, b"e"), rows("t", 1, b"f"), overwrite=True)
    assert s3.read(f"{url}/t-0") == {"t-0": [b"e", b"f"]} and s3.hidden(url) == []


def test_s3_lets_only_one_writer_create_an_object(s3: Bucket) -> None:
    storage = log_target({"path": "s3://logs", **s3.options}).storage
    objects = ConditionalObjects(*store(s3.new(), storage))
    assert objects.create("x", b"1") and not objects.create("x", b"2")
    data, tag = objects.tagged("x")
    assert data == b"1" and tag is not None
    assert not objects.replace("x", b"3", '"0"')
    assert objects.replace("x", b"4", tag) and objects.tagged("x")[0] == b"4"


def test_a_bucket_that_is_missing(s3: Bucket) -> None:
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_WRITE_FAILED.*s3://absent/k can't be written: .*bucket") as no:
        s3.write("s3://absent/k", values(b"a"))
    assert "very-hidden" not in str(no.value)
