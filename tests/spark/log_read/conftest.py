"""Both ways to Arrow columns: the native engine's and Python's."""

import pytest

from tagwire.message.engines import engine


@pytest.fixture(params=["native", "python"])
def each_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test with the native engine and without it."""
    if request.param == "native" and engine() != "native":
        pytest.skip("there is no native engine here")
    monkeypatch.setattr("tagwire.log.column_stream.engine", lambda: request.param)
