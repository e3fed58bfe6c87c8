import gc
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import pyarrow as pa
import pytest
from growth import leaked_bytes
from native_engine import native
from peak_memory import PEAK_KIB

from tagwire import log
from tagwire.records import Record, build

pytestmark = [native, pytest.mark.usefixtures("native_in_use"), pytest.mark.thorough]
_READ = f"""{PEAK_KIB}
import sys
from tagwire import log
next(iter(log.columns(sys.argv[1])))
before = peak_kib()
rows = sum(len(array) for array in log.columns(sys.argv[1]))
print(rows, peak_kib() - before)
"""


def segment(path: Path, batches: int, *, records: int = 100, value: bytes = b"v" * 100, codec: str = "none") -> Path:
    batch = build([Record(n, 5, b"key", value, [("h", b"x")]) for n in range(records)], "v2", compression=codec)
    data = b"".join(batch.replace(base_offset=records * number).encode() for number in range(256))
    with path.open("wb") as file:
        for _ in range(batches // 256):
            file.write(data)
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
def test_large_segment_needs_the_memory_of_one_array(tmp_path: Path) -> None:
    """Compress the segment to a small file, because the file is mapped, and mapped pages count as memory."""
    path = segment(tmp_path / "segment", 256 * 80, value=b"v" * 200, codec="gzip")  # 500 MB when decompressed
    run = subprocess.run([sys.executable, "-c", _READ, str(path)], capture_output=True, text=True, check=True)
    rows, grown = map(int, run.stdout.split())
    unit = 1 if sys.platform == "darwin" else 1024
    assert rows == 256 * 80 * 100
    assert grown * unit < 100_000_000


def test_nothing_leaks(tmp_path: Path) -> None:
    path = segment(tmp_path / "segment", 256, records=10)
    packed = segment(tmp_path / "packed", 256, records=10, codec="gzip")
    broken = tmp_path / "broken"
    broken.write_bytes(path.read_bytes()[:-5])

    def read_all() -> None:
        pa.table(log.columns(path))
        next(iter(log.columns(packed)))
        pa.table(log.columns(path, level="batch"))
        with pytest.raises(log.LogError):
            list(log.columns(broken))
        pa.RecordBatchReader.from_stream(log.columns(packed)).read_next_batch()

    # Take the minimum: a leak adds memory in each run, but an import only once.
    assert min(leaked_bytes(read_all, 5) for _ in range(3)) < 20_000


def test_arrays_outlive_their_reader(tmp_path: Path) -> None:
    path = segment(tmp_path / "segment", 256, records=10)
    columns = log.columns(path, ["offset", "file", "key"])
    arrays = [pa.record_batch(array) for array in columns]
    del columns
    path.unlink()
    gc.collect()
    offsets = pa.Table.from_batches(arrays)
    assert offsets.num_rows == 2560 and offsets["file"][-1].as_py() == str(path)


def test_other_threads_run_meanwhile(tmp_path: Path) -> None:
    path = segment(tmp_path / "segment", 256 * 8)
    done, turns = Event(), [0]

    def turn() -> None:
        while not done.wait(0.001):
            turns[0] += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)  # long enough that no thread is forced to release the GIL
    thread = Thread(target=turn)
    try:
        thread.start()
        before = turns[0]
        # Try again, because a busy machine may not run the other thread during the first calls.
        assert any(list(log.columns(path)) and turns[0] > before for _ in range(20))
    finally:
        sys.setswitchinterval(interval)
        done.set()
        thread.join()


def test_two_threads_over_one_log(tmp_path: Path) -> None:
    path = segment(tmp_path / "segment", 256, records=20)
    columns = log.columns(path)
    found: list[pa.Table] = []
    threads = [Thread(target=lambda: found.append(pa.table(columns))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(each == found[0] for each in found)
