import json
from functools import partial
from pathlib import Path

from command import tagwire_outcome, tagwire_result, tagwire_rows
from small_logs import write_segment

from tagwire import log
from tagwire.records import Record, build

run = partial(tagwire_result, "log")


def test_empty_checkpoints_of_a_new_broker(tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "t-0"
    write_segment(folder, build([Record(0, 7, b"k", b"v")], "v2"))
    (folder / "leader-epoch-checkpoint").touch()
    for name in ("log-start-offset", "recovery-point-offset", "replication-offset", "cleaner-offset"):
        (folder.parent / f"{name}-checkpoint").touch()
    assert run("verify", folder.parent).exit_code == 0
    assert run("dump", folder, "--from-log-start").exit_code == 0
    partition = log.Partition(folder)
    assert (partition.log_start_offset, partition.leader_epochs) == (None, [])
    assert run("convert", folder.parent, "--to", "v2", "--output", tmp_path / "converted").exit_code == 0


SEGMENT = "00000000000000000000.log"
outcome = partial(tagwire_outcome, "log")
rows = partial(tagwire_rows, "log")


def test_verify(logs: Path, tmp_path: Path) -> None:
    found = rows("verify", logs)
    assert all(list(row) == ["file", "batches", "records", "bytes", "problems"] for row in found)
    assert all(row["problems"] == [] for row in found)
    assert any(row["file"].endswith("recovery-point-offset-checkpoint") for row in found)
    data = (logs / "kafka28" / "alpha-upgrade2-0" / SEGMENT).read_bytes()
    path = tmp_path / SEGMENT
    path.write_bytes(data[:100] + b"\xff" + data[101:])
    code, out, _ = outcome("verify", path, "--json")
    (report,) = map(json.loads, out.splitlines())
    assert code == 1 and [list(each) for each in report["problems"]] == [["position", "rule", "message"]]
    code, out, err = outcome("verify", tmp_path)
    assert code == 1 and f"{path}:93: TWL104 crc: found" in out and err == "1 segment, 1 problem\n"
