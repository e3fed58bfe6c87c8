import pytest
from native_engine import forget_engine

from tagwire import engine


@pytest.fixture(params=("python", "native") if engine() == "native" else ("python",))
def each_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the test once with each engine. Messages and formats forget the engine that they used before."""
    monkeypatch.setenv("TAGWIRE_ENGINE", request.param)
    forget_engine()
    return str(request.param)
