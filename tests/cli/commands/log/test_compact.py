from functools import partial
from pathlib import Path

from command import tagwire_outcome, tagwire_rows
from small_logs import stock, write_segment

from tagwire.records import Record, build

SEGMENT = "00000000000000000000.log"
outcome = partial(tagwire_outcome, "log")
rows = partial(tagwire_rows, "log")


def test_compact(tmp_path: Path) -> None:
    folder = stock(tmp_path / "stock-0")
    code, out, err = outcome("compact", folder, "--now", 1000, "--explain", "--output", tmp_path / "to")
    assert (code, err) == (0, "")
    assert out.splitlines()[:3] == [
        "0\tremoved\ta later record has the same key",
        "1\tkept\ta tombstone that has not expired",
        "2\tkept\tthe last record with its key",
    ]
    assert "      1  removed  a later record has the same key\n\n" in out
    assert out.splitlines()[-1] == f"{folder}: compacted up to offset 3: the active segment begins there"
    assert [row["offset"] for row in rows("dump", tmp_path / "to" / "stock-0")] == [1, 2, 3]
    assert outcome("verify", tmp_path / "to")[0] == 0


def test_compact_as_json(tmp_path: Path) -> None:
    folder = stock(tmp_path / "stock-0")
    rules = ("--now", 1000, "--include-active", "--delete-retention-ms", 0)
    *records, report = rows("compact", folder, *rules, "--explain", "--output", tmp_path / "to")
    kept = [False, False, False, True]
    assert [(row["offset"], row["kept"], row["file"]) for row in records] == [
        (n, kept[n], str(folder / (SEGMENT if n < 3 else "00000000000000000003.log"))) for n in range(4)
    ]
    assert [row["reason"] for row in records] == ["superseded", "expired_tombstone", "superseded", "latest"]
    assert (report["partition"], report["compactedTo"], report["keys"]) == (str(folder), 4, 2)
    assert [(each["records"], each["newRecords"], each["removed"]) for each in report["segments"]] == [
        (3, 0, {"superseded": 2, "expired_tombstone": 1}),
        (1, 1, {}),
    ]


def test_compact_a_folder_of_logs(logs: Path, tmp_path: Path) -> None:
    found = rows("compact", logs / "kafka4", "--drop-keyless", "--now", 0, "--output", tmp_path)
    assert len(found) == len([path for path in (logs / "kafka4").iterdir() if path.is_dir()])
    assert (tmp_path / "meta.properties").is_file()
    assert (tmp_path / "cleaner-offset-checkpoint").is_file()
    assert outcome("verify", tmp_path)[0] == 0


def test_errors_name_options(tmp_path: Path) -> None:
    folder = stock(tmp_path / "stock-0")
    write_segment(folder, build([Record(4, 9, None, b"")], "v2"), base=4)
    for options, expected in (
        (("--max-keys", 1, "--output", tmp_path / "to"), ("set --max-keys to a larger", "or --dirty-from to skip")),
        (("--include-active", "--output", tmp_path / "to"), ("offset 4 has no key", "pass --drop-keyless")),
        (("--output", folder / SEGMENT), ("Usage: ", "Invalid value for '--output': Directory", "is a file")),
    ):
        code, out, err = outcome("compact", folder, *options)
        assert (code, out) == (1 + ("Usage: " in err), "") and all(text in err for text in expected)
