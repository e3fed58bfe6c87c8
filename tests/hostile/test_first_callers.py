"""Check that a new process doesn't crash if several threads make the first calls at once.

First calls create methods, plans, layouts, formats and modules. No thread may replace objects that another thread uses.
"""

import os
import subprocess
import sys
from pathlib import Path

import first_callers
import pytest

from tagwire import engine

pytestmark = pytest.mark.thorough
SCRIPT = Path(first_callers.__file__)
THREADS = 16


@pytest.mark.parametrize("call", first_callers.CALLS)
@pytest.mark.parametrize("way", ["native", "python"])
def test_first_calls(call: str, way: str) -> None:
    if way == "native" and engine() != "native":
        pytest.skip("this installation has no native engine, or it is not in use")
    if call == "arrow":
        pytest.importorskip("pyarrow")
    command = [sys.executable, str(SCRIPT), call, str(THREADS)]
    environment = os.environ | {"TAGWIRE_ENGINE": way}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert ran.returncode == 0, f"exit code {ran.returncode}: {ran.stdout[-2000:]}{ran.stderr[-500:]}"
