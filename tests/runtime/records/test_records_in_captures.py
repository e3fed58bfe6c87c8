import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import tagwire_messages as messages
from tagwire.records import read_batches

CAPTURES = Path(__file__).parents[2] / "data" / "captures" / "captures.jsonl.gz"


def record_sets() -> list[tuple[bool, bytes]]:
    found: list[tuple[bool, Any]] = []
    with gzip.open(CAPTURES, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            data = bytes.fromhex(row["hex"])
            if (row["api_key"], row["dir"]) == (0, "req"):
                request = messages.registry.decode_request(data).message
                found += [(False, part.records) for topic in request.topic_data for part in topic.partition_data]
            elif (row["api_key"], row["dir"]) == (1, "resp"):
                response = messages.registry.decode_response(data, 1, row["api_version"]).message
                found += [(True, part.records) for topic in response.responses for part in topic.partitions]
    return [(is_fetched, records) for is_fetched, records in found if records]


def test_all_are_read() -> None:
    seen: Counter[tuple[int, str]] = Counter()
    records = 0
    for is_fetched, data in record_sets():
        end = 0
        for batch in read_batches(data, partial=is_fetched):
            seen[batch.magic, batch.compression] += 1
            records += sum(1 for _ in batch)
            end += batch.size
            assert batch.encode() == data[end - batch.size : end]
        # The last batch of a Fetch response may be truncated, because the client limits the response's size.
        assert end == len(data) or (is_fetched and end < len(data))
    assert records == RECORDS
    assert {magic for magic, _ in seen} == {0, 1, 2}
    assert {codec for _, codec in seen} == {"none", "gzip", "snappy", "lz4", "zstd"}


RECORDS = 86202
