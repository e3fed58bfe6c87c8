import copy
import pickle

import pytest

import tagwire
from tagwire.errors import MissingExtraError
from tagwire.message import RUNTIME_LEVEL, RuntimeLevelError, require_level


@pytest.mark.parametrize("name", [name for name in tagwire.__all__ if name.endswith("Error")])
def test_all_errors_are_tagwire_errors(name: str) -> None:
    base = tagwire.DecodeError if name == "LimitError" else tagwire.TagwireError
    assert issubclass(getattr(tagwire, name), base)


def test_unsupported_versions_name_the_supported_ones() -> None:
    error = tagwire.UnsupportedVersionError("PollRequest", 99, tagwire.Versions(0, 3))
    assert str(error) == "PollRequest has no version 99; supported versions are 0-3"
    assert (error.version, error.supported) == (99, tagwire.Versions(0, 3))
    assert "16-bit integer as the version, got a larger one" in str(
        tagwire.UnsupportedVersionError("A", 1 << 19999, "0")
    )


def test_old_runtime_rejects_new_packages() -> None:
    require_level(RUNTIME_LEVEL, "my_messages")
    with pytest.raises(RuntimeLevelError, match="level") as caught:
        require_level(RUNTIME_LEVEL + 1, "my_messages")
    assert f"my_messages was generated for runtime level {RUNTIME_LEVEL + 1}" in str(caught.value)
    assert "upgrade tagwire" in str(caught.value)
    assert isinstance(caught.value, ImportError)


ERRORS = [
    tagwire.DecodeError(message_name="A", version=1, path="b", offset=2, found="c", expected="d"),
    tagwire.LimitError(message_name="A", version=None, path="", offset=2, found="c", expected="d"),
    tagwire.EncodeError("is None", message_name="A", version=1, path="b"),
    tagwire.UnsupportedVersionError("A", 9, tagwire.Versions(0, 3)),
    tagwire.NoCommonVersionError("A", tagwire.Versions(0, 3), tagwire.Versions(5, 6)),
    tagwire.SpecError("two", file="a.json", line=3, column=5, rule="TW101", problems=["one", "two"]),
    tagwire.VersionsError("no range"),
    tagwire.SchemaError("no schema"),
    MissingExtraError("dpkt", "pcap"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_cross_processes(error: tagwire.TagwireError) -> None:
    for copied in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert type(copied) is type(error)
        assert (str(copied), copied.args, vars(copied)) == (str(error), error.args, vars(error))
