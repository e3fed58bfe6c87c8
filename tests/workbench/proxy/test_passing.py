import os
import platform
import resource
import subprocess
import sys

import pytest

from tagwire_workbench.proxy.passing import KEEPING

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt and its variables are glibc's")

FRAMES = """
import resource
{first}
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def pass_frames():
    for _ in range(20):
        parts = [bytes(1 << 18) for _ in range(32)]
        del parts
pass_frames()
before = faults()
pass_frames()
print(faults() - before)
"""
KEPT_BY_CALL = "from tagwire_workbench.proxy.passing import keep_freed_memory; keep_freed_memory()"


def _faults(first: str = "", **variables: str) -> int:
    program = FRAMES.format(first=first)
    return int(subprocess.check_output([sys.executable, "-c", program], env=os.environ | variables))


def test_both_settings_reuse_the_pages_of_frames() -> None:
    assert _faults() > 20 * (1 << 20) // resource.getpagesize()
    assert _faults(KEPT_BY_CALL) < 100
    assert _faults(**KEEPING) < 100
