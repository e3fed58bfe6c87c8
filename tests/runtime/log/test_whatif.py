import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import small_logs
from command import tagwire_result as run

from tagwire import log
from tagwire.log.convert import Conversion
from tagwire.log.rebatching import BatchSize
from tagwire.log.whatif import Kind, WhatIf, fill_of
from tagwire.records import Record, RecordBatch, build, convert
from tagwire_workbench.whatif import scale_of

CopyOf = Callable[[str], Path]
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


def test_whatif_as_json(logs: Path) -> None:
    result = run("whatif", "--to", "v3", "--json", logs / TXN)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    total = found["total"]
    assert (found["to"], found["against"], found["losses"]) == ("v3", None, [])
    assert total["batches"] == sum(kind["batches"] for kind in found["kinds"]) > 100
    assert total["savedUncompressed"] == total["uncompressedBefore"] - total["uncompressedAfter"] > 0
    assert {kind["topic"] for kind in found["kinds"]} == {"alpha-txn-many"}


def test_whatif_as_tables(logs: Path) -> None:
    result = run("whatif", "--to", "kip82-int", "--against", "v1", "--top", "1", logs / "kafka28", logs / "kafka0.8")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "kip82-int compared with v1"
    assert sum(line.startswith("and ") and "--top" in line for line in lines) == 1
    assert any(line.startswith("lost: ") for line in lines)


def test_whatif_as_a_page(logs: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("whatif", "--to", "v3", "--html", page, logs / "kafka28").exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "alpha-upgrade2" in text and "prefers-color-scheme: dark" in text
    plots = text.split("<figure>")[1:]
    axes = [re.findall(r'style="left: [-0-9.]+%">([-0-9.,]+)</span>', plot) for plot in plots]
    assert len(plots) > 2 and all(
        len(axis) > 1 and plot.count('class="row"') > 1 for plot, axis in zip(plots, axes, strict=True)
    )
    saved = [axis for plot, axis in zip(plots, axes, strict=True) if "% saved" in plot]
    assert len(saved) > 1 and all(axis == saved[0] for axis in saved)
    for foreign in ("<script", "<link", "src=", "@import", "url("):
        assert foreign not in text


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        ([3.1, 17.0], [0, 5, 10, 15, 20]),
        ([-0.21, 0.27], [-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3]),
        ([-5], [-5, -4, -3, -2, -1, 0]),
        ([294_894], [0, 100_000, 200_000, 300_000]),
    ],
)
def test_axes_have_round_ticks_and_room(values: list[float], ticks: list[float]) -> None:
    scale = scale_of(values, "bytes")
    assert scale.ticks == ticks
    assert [position for position, _ in scale.labels()][:: len(ticks) - 1] == [0, 100]
    for value in values:
        bar = scale.bar("compressed", value, "")
        assert 0 <= bar.left <= bar.left + bar.width <= 100.01 and bar.is_loss == (value < 0)


def test_a_topic_s_name_is_text_on_the_page(tmp_path: Path) -> None:
    folder = tmp_path / "<b>&-0"
    segment(folder, draft_batch())
    assert run("whatif", "--to", "v3", "--html", tmp_path / "page.html", folder).exit_code == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<b>" not in text and "&lt;b&gt;&amp;" in text


def test_convert_a_broker_s_folder(logs: Path, tmp_path: Path) -> None:
    output = tmp_path / "output"
    result = run("log", "convert", "--to", "v2", "--output", output, logs / "kafka0.11", "--json")
    assert result.exit_code == 0, result.output
    reports = [json.loads(line) for line in result.stdout.splitlines()]
    assert {Path(report["file"]).parent.name for report in reports} == {"alpha-b0.11-compact-gzip-0"}
    assert (output / "meta.properties").is_file() and (output / "alpha-b0.11-compact-gzip-0").is_dir()
    again = run("log", "convert", "--to", "v2", "--output", output, logs / "kafka0.11")
    assert again.exit_code == 1 and "already exists" in again.stderr


def test_convert_reports_each_loss_once(logs: Path, tmp_path: Path) -> None:
    result = run("log", "convert", "--to", "v1", "--output", tmp_path / "output", logs / TXN)
    assert result.exit_code == 1
    lines = [line for line in result.stderr.splitlines() if "is_transactional" in line]
    assert len(lines) == 1 and "losses: that format has no field for it (first at byte 0 of " in lines[0]
    assert (tmp_path / "output" / "alpha-txn-many-0").is_dir()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("log", "convert", "--to", "v1", "--codec", "zstd", "--output", "x"), "unknown codec 'zstd' in v1"),
        (("whatif", "--to", "v9"), "there is no record format 'v9'"),
        (("whatif", "--to", "v3", "--against", "v9"), "there is no record format 'v9'"),
    ],
)
def test_invalid_options(logs: Path, arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments, logs / TXN)
    assert result.exit_code in (1, 2) and message in result.stderr


def test_a_segment_alone_is_not_converted(logs: Path, tmp_path: Path) -> None:
    result = run("log", "convert", "--output", tmp_path / "x", logs / TXN / f"{0:020}.log")
    assert result.exit_code == 1 and "give the folder of its partition" in result.stderr
