"""Check that an unsupported PySpark version is rejected on import, before it causes a TypeError elsewhere."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import pyspark, sys
pyspark.__version__ = sys.argv[1]
import tagwire_spark
"""


@pytest.mark.parametrize(
    ("version", "is_rejected"), [("4.1.1", True), ("3.5.7", True), ("4.2.0.dev1", False), ("10.0.0", False)]
)
def test_older_pyspark_is_rejected(tmp_path: Path, version: str, is_rejected: bool) -> None:
    command = [sys.executable, "-c", PROGRAM, version]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    assert (done.returncode != 0) is is_rejected, done.stderr
    text = f"expected PySpark 4.2 or later, got {version}; install it with: pip install 'tagwire[spark]'\n"
    assert done.stderr.endswith(text) is is_rejected
