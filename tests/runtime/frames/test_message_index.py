import pytest
from sample_messages import registry

import tagwire_messages as messages
from tagwire.frames.message_index import Spans, UnknownMessageError, parse_releases, releases_text

HISTORIES: list[tuple[dict[int, Spans], str]] = [
    ({0: (("2.4.1", "2.4.1"),)}, "0 2.4.1 2.4.1"),
    ({0: (("1.0", "2.0"),), 1: (("1.0", "2.0"),), 2: (("2.0", "2.0"),)}, "0-1 1.0 2.0; 2 2.0 2.0"),
    ({3: (("1.0", "1.0"), ("2.0", "3.0")), 4: (("3.0", "3.0"),)}, "3 1.0 1.0; 3 2.0 3.0; 4 3.0 3.0"),
    # Versions 0 and 2 are in the same releases, but `releases_text` combines only adjacent versions.
    ({0: (("1.0", "1.0"),), 2: (("1.0", "1.0"),)}, "0 1.0 1.0; 2 1.0 1.0"),
]


@pytest.mark.parametrize(("versions", "text"), HISTORIES)
def test_text_lists_all_releases(versions: dict[int, Spans], text: str) -> None:
    assert releases_text(versions) == text
    assert parse_releases(text) == versions


def test_every_version_of_kafka_has_its_releases() -> None:
    for name in messages.registry.names():
        releases = messages.registry.releases(name)
        assert list(releases) == list(messages.registry[name].VERSIONS), name


def test_older_names_have_the_same_releases() -> None:
    assert messages.registry.releases("AlterIsrRequest") == messages.registry.releases("AlterPartitionRequest")
    assert messages.registry.releases("AlterPartitionRequest")[0] == (("2.7.2", "3.9.2"),)


def test_a_package_without_releases() -> None:
    assert registry.releases("PollRequest") == {}
    with pytest.raises(UnknownMessageError):
        registry.releases("NoSuchRequest")


def test_removed_apis_are_listed() -> None:
    for key, name in {4: "LeaderAndIsr", 5: "StopReplica", 6: "UpdateMetadata", 7: "ControlledShutdown"}.items():
        assert f"{name}Request" == messages.registry.request(key).NAME
        assert f"{name}Response" == messages.registry.response(key).NAME
        assert {spans[-1][1] for spans in messages.registry.releases(f"{name}Request").values()} == {"3.9.2"}
