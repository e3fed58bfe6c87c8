from pathlib import Path

from tagwire_spark.jobs.last_offsets import _ascending, last_offsets_between


def test_last_offsets_are_found_in_files(tmp_path: Path) -> None:
    import pyarrow as pa

    for task, offsets in (("a", [5, 1, 9]), ("b", [7, 3, 1 << 40])):
        (tmp_path / task).mkdir()
        (tmp_path / task / "4").write_bytes(_ascending(pa.array(offsets, pa.int64())))
    found = last_offsets_between(tmp_path, 4, 3, 9)
    assert [offset for offset in range(12) if found.is_last(b"", offset)] == [3, 5, 7]
