import pytest

from tagwire.message.engines import engine


@pytest.fixture(params=["native", "python"])
def each_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "native" and engine() != "native":
        pytest.skip("there is no native engine here")
    monkeypatch.setattr("tagwire.log.column_stream.engine", lambda: request.param)
