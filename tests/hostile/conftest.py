import pytest
from native_engine import forget_engine

from tagwire import engine


@pytest.fixture(params=("python", "native") if engine() == "native" else ("python",))
def each_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the test once with each engine. First, make messages and formats forget the engine of earlier tests."""
    monkeypatch.setenv("TAGWIRE_ENGINE", request.param)
    forget_engine()
    return str(request.param)
