import gzip
import json
import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tagwire_workbench.proxy import writing


@pytest.mark.parametrize("kind", ["gzip", "plain"])
def test_full_disk_ends_the_process(kind: str) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, writing.__file__, kind]
        done = subprocess.run(
            command, input=bytes(3) + b"\2\0\0\0\1{}x", stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (1, b"No space left on device\n")


@pytest.mark.parametrize(("kind", "opened"), [("gzip", gzip.open), ("plain", open)])
def test_file_on_a_full_disk_ends_with_a_complete_line_or_member(kind: str, opened: Any, tmp_path: Path) -> None:
    path = tmp_path / "frames"
    start = b'{"dir": "req", "hex": "'
    frame = random.Random(1).randbytes(300_000)
    piece = len(start).to_bytes(4, "big") + len(frame).to_bytes(4, "big") + start + frame
    limited = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1500000,) * 2); "
    limited += f"sys.argv = ['', {kind!r}]; runpy.run_path({writing.__file__!r}, run_name='__main__')"
    command = [sys.executable, "-c", limited]
    with path.open("wb") as file, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=file, stderr=-1) as process:
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            for _ in range(10):
                process.stdin.write(piece)
                process.stdin.flush()
                time.sleep(0.6)  # give the process time to write the lines to the file
        assert process.wait() == 1
    with opened(path, "rb") as lines:
        found = [json.loads(line)["hex"] for line in lines]
    assert found and set(found) == {frame.hex()}
