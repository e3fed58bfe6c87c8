import sys
from types import ModuleType

import pytest

from tagwire_messages import registry
from tagwire_spark import PipelineError
from tagwire_spark.columns.packages import find_registry


@pytest.mark.parametrize("package", ["", "tagwire_messages"])
def test_the_default_package_contains_kafkas_messages(package: str) -> None:
    assert find_registry(package) is registry


@pytest.mark.parametrize(
    ("package", "message"),
    [
        ("nosuch_package", "can't be imported .*No module named 'nosuch_package'"),
        ("json", "can't be imported .*no attribute 'registry'"),
        ("has_other_registry", "is not a generated package: it has no message registry"),
    ],
)
def test_packages_without_messages_are_rejected(package: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = ModuleType("has_other_registry")
    vars(other)["registry"] = {}
    monkeypatch.setitem(sys.modules, other.__name__, other)
    with pytest.raises(PipelineError, match=f"Package '{package}' {message}"):
        find_registry(package)
