import json
import subprocess
from pathlib import Path

import pytest
from command import tagwire_result

ROOT = Path(__file__).parents[4]
ORDERS = ROOT / "tests" / "data" / "sample_log" / "orders-0"
TXN = "kafka4/alpha-txn-many-0"


def run(*words: object, code: int = 0) -> str:
    done = tagwire_result("log", "dump", *words, code=code)
    return done.stdout if code == 0 else done.stderr


@pytest.mark.parametrize(
    ("words", "offsets"),
    [
        (["--start-offset", 3, "--end-offset", 6], [3, 4, 5]),
        (["--end-offset", 2], [0, 1]),
        (["--count", 2, "--start-offset", 28], [28, 29]),
        (["--count", 0], []),
        (["--start-time", "2023-11-14T22:41:20+00:00"], [28, 29]),
        (["--start-time", 1700001680000, "--end-time", 1700001740000], [28]),
        (["--key", "order-1"], [2, 16, 23]),
        (["--header", "trace", "--end-offset", 10], [0, 5]),
        (["--header", "trace=d0718c1a"], [5]),
        (["--header", "nothing"], []),
    ],
)
def test_some_records(words: list[object], offsets: list[int]) -> None:
    assert [int(line.split("\t")[0]) for line in run(ORDERS, *words).splitlines()] == offsets
    assert [json.loads(line)["offset"] for line in run(ORDERS, *words, "--json").splitlines()] == offsets


@pytest.mark.parametrize(
    ("template", "line"),
    [
        ("{offset} {key}", "0 order-14"),
        (r"{topic}-{partition}\t{timestamp}\\", "orders-0\t1700000000000\\"),
        ("{headers}: {attributes}", "trace=b46ee1da: has headers"),
    ],
)
def test_templates(template: str, line: str) -> None:
    assert run(ORDERS, "--count", 1, "--template", template) == f"{line}\n"


def test_wrong_templates_and_times() -> None:
    assert "unknown placeholder {ofset}; did you mean 'offset'?" in run(ORDERS, "--template", "{ofset}", code=2)
    assert "expected milliseconds since 1970" in run(ORDERS, "--start-time", "noon", code=2)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    subprocess.run(["tar", "-xzf", ROOT / "tests/data/logs/logs.tar.gz", "-C", folder], check=True)
    return folder


FILES = (
    (f"{TXN}/{0:020}.index", {"offset", "position"}),
    (f"{TXN}/{0:020}.timeindex", {"timestamp", "offset"}),
    (f"{TXN}/{0:020}.txnindex", {"producerId", "firstOffset", "lastOffset", "lastStableOffset"}),
    (f"{TXN}/{14:020}.snapshot", {"producerId", "epoch", "lastSequence", "lastOffset", "timestamp"}),
    (f"{TXN}/leader-epoch-checkpoint", {"epoch", "startOffset"}),
    (f"{TXN}/partition.metadata", {"name", "value"}),
    ("kafka4/log-start-offset-checkpoint", {"topic", "partition", "offset"}),
    ("kafka4/meta.properties", {"name", "value"}),
)


@pytest.mark.parametrize(("name", "keys"), FILES, ids=[name for name, _ in FILES])
def test_files_next_to_segments(logs: Path, name: str, keys: set[str]) -> None:
    path = logs / name
    rows = [json.loads(line) for line in run(path, "--json").splitlines()]
    assert all({"file", *keys} <= row.keys() for row in rows)
    assert len(rows) == len(run(path).splitlines())


def test_a_damaged_index_is_reported(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.index"
    path.write_bytes(bytes(9))
    assert "byte 8: found 1 byte after the last whole entry, expected entries of 8 bytes" in run(path, code=1)
