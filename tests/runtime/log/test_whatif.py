from pathlib import Path

import pytest
import small_logs

from tagwire import log
from tagwire.log.convert import Conversion
from tagwire.log.rebatching import BatchSize
from tagwire.log.whatif import Kind, WhatIf, fill_of
from tagwire.records import Record, RecordBatch, build, convert

NOW = 1_700_000_000_000
TXN = "kafka4/alpha-txn-many-0"


def segment(folder: Path, *batches: bytes | RecordBatch) -> log.Segment:
    return log.Segment(small_logs.write_segment(folder, *batches))


def draft_batch(codec: str = "none") -> RecordBatch:
    """Return a batch like the one in the v3 proposal. It takes 16 KiB, and its 201 records span 30 seconds."""
    records = [Record(n, NOW + 150 * n, None, bytes([n % 251]) * 71) for n in range(201)]
    return build(records, "v2", compression=codec)


def test_savings_in_the_case_of_the_proposal(tmp_path: Path) -> None:
    batch = draft_batch()
    assert 16384 <= batch.size < 17000 and batch.max_timestamp - batch.base_timestamp == 30_000
    found = WhatIf(Conversion("v3"))
    found.add(segment(tmp_path, batch), "orders")
    total = found.total()
    assert (total.batches, total.records, total.bytes) == (1, 201, batch.size)
    assert (total.saved_per_batch, total.saved_per_record) == (10.0, 1.0)
    assert total.saved_uncompressed == total.saved_compressed == 10 + 201
    assert total.header_saved == {10: 1}
    assert found.measures.keys() == {Kind("orders", "v2", "none", "100 to 999")}


def test_sizes_are_those_of_the_conversion(tmp_path: Path) -> None:
    batch = draft_batch("gzip")
    found = WhatIf(Conversion("v3"))
    found.add(segment(tmp_path, batch), "orders")
    total = found.total()
    assert total.compressed_after == convert(batch, "v3")[0].size
    # Compressing again gives the same size, because tagwire wrote the batch.
    assert total.compressed_before == batch.size
    assert total.uncompressed_before - total.uncompressed_after == 211
    assert total.seconds > 0 and len(found.losses) == 0


def test_both_sides_are_changed_alike(tmp_path: Path) -> None:
    ones = [build([Record(n, NOW, b"k", b"v" * 50)], "v2") for n in range(40)]
    found = WhatIf(Conversion("v3", "zstd", BatchSize(records=20)))
    found.add(segment(tmp_path, *ones), "orders")
    assert found.measures.keys() == {Kind("orders", "v2", "zstd", "10 to 99")}
    total = found.total()
    assert (total.batches, total.records, total.bytes) == (2, 40, 40 * ones[0].size)
    assert total.uncompressed_before == 2 * build([Record(n, NOW, b"k", b"v" * 50) for n in range(20)], "v2").size


def test_comparison_with_another_format(tmp_path: Path) -> None:
    records = [Record(n, NOW, b"k", b"v") for n in range(5)]
    found = WhatIf(Conversion("kip87"), against="v1")
    found.add(segment(tmp_path, build(records, "v2")), "orders")
    assert found.total().uncompressed_before == build(records, "v1").size
    assert found.total().saved_uncompressed == 0


def test_unsupported_records_are_omitted_and_counted(logs: Path) -> None:
    found = WhatIf(Conversion("v1"))
    markers = 0
    for each in log.Partition(logs / TXN).segments:
        found.add(each, "alpha-txn-many")
        markers += sum(batch.is_control for batch in each.batches())
    total = found.total()
    assert total.left_out == markers > 0 and total.rejected == 0
    assert "is_transactional" in {row.path for row in found.losses.rows()}


def test_rejected_records_are_counted_and_not_raised(tmp_path: Path) -> None:
    wide = build([Record(0, 1 << 62, b"k", b"v"), Record(1, -(1 << 62) - 5, b"k", b"v")], "v1", compression="gzip")
    found = WhatIf(Conversion("v2"))
    found.add(segment(tmp_path, wide), "odd")
    assert (found.total().rejected, found.total().left_out, found.total().batches) == (1, 1, 0)
    assert any(row.reason.startswith("rejected: ") for row in found.losses.rows())


def test_damage_has_its_place(tmp_path: Path) -> None:
    with pytest.raises(log.LogError, match=r"0000\.log"):
        WhatIf(Conversion("v3")).add(segment(tmp_path, draft_batch().encode()[:-1]), "orders")


@pytest.mark.parametrize(
    ("records", "fill"), [(0, "empty"), (1, "1"), (2, "2 to 9"), (99, "10 to 99"), (1000, "1000 or more")]
)
def test_fills(records: int, fill: str) -> None:
    assert fill_of(records) == fill
