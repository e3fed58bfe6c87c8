import json
from pathlib import Path

import pytest
from command import tagwire_result as run
from spec_projects import read_tree

TXN = "kafka4/alpha-txn-many-0"


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


def test_codec_that_the_format_does_not_have(logs: Path, tmp_path: Path) -> None:
    words = ("log", "convert", "--to", "v1", "--codec", "zstd", "--output", tmp_path / "x", logs / TXN)
    assert "unknown codec 'zstd' in v1" in run(*words, code=1).stderr


def test_a_segment_alone_is_not_converted(logs: Path, tmp_path: Path) -> None:
    result = run("log", "convert", "--output", tmp_path / "x", logs / TXN / f"{0:020}.log")
    assert result.exit_code == 1 and "give the folder of its partition" in result.stderr


@pytest.mark.parametrize("option", ["--batch-bytes", "--batch-records"])
@pytest.mark.parametrize("command", ["log convert --output new", "whatif --to v3"])
def test_the_largest_batches(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, option: str
) -> None:
    monkeypatch.chdir(tmp_path)
    run(*command.split(), logs / TXN, option, 10**30, code=0)
    run(*command.replace("new", "same").split(), logs / TXN, option, (1 << 31) - 1, code=0)
    if command.startswith("log"):
        assert read_tree(Path("new")) == read_tree(Path("same"))
