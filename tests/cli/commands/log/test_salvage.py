import json
from functools import partial
from pathlib import Path

from command import tagwire_outcome

SEGMENT = "00000000000000000000.log"
outcome = partial(tagwire_outcome, "log")


def test_salvage(logs: Path, tmp_path: Path) -> None:
    source = tmp_path / "broken" / "alpha-0"
    source.mkdir(parents=True)
    data = (logs / "kafka28" / "alpha-upgrade2-0" / SEGMENT).read_bytes()
    (source / SEGMENT).write_bytes(data[:100] + b"\xff" + data[101:])
    code, out, err = outcome("salvage", source, "--output", tmp_path / "saved")
    assert code == 1 and "kept 49 intact batches, 239 records" in out
    assert "skipped" in err and f"{source / SEGMENT}:93: TWL104" in err
    assert outcome("verify", tmp_path / "saved")[0] == 0
    code, _, err = outcome("salvage", source, "--output", tmp_path / "saved")
    assert code == 1 and "already exists" in err
    code, out, _ = outcome("salvage", tmp_path / "saved", "--output", tmp_path / "again", "--json")
    assert code == 0 and json.loads(out)["lostBytes"] == 0
