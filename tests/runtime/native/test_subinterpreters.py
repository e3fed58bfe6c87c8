"""Only one interpreter per process can load the native engine. Others use the pure engine."""

import subprocess
import sys

import pytest
from native_engine import native

pytestmark = native
INSIDE = """
import tagwire, tagwire_messages
message = tagwire_messages.HeartbeatResponse(error_code=3)
assert tagwire_messages.HeartbeatResponse.decode(message.encode(4), 4) == message
print(tagwire.engine(), flush=True)
"""


def test_a_subinterpreter_uses_the_pure_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAGWIRE_ENGINE", raising=False)
    module = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    begin = f"import {module} as made, tagwire; print(tagwire.engine(), flush=True)"
    program = f"{begin}; inner = made.create(); made.run_string(inner, {INSIDE!r}); made.destroy(inner)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("native\npython\n", "")
