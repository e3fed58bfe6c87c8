"""Check that the generated classes have the wire formats of all Kafka releases in the archive.

The digests in `history.toml` are always checked. The releases' jars (see `make archive`) are checked if
`TAGWIRE_KAFKA_JARS` names their folder.
"""

import os
import re
from pathlib import Path

import pytest
from spec_projects import read_tree

import tagwire_messages
from tagwire.message.field_table import layout_of
from tagwire_generator.project.history import HISTORY_FILE, read_history, release_order
from tagwire_workbench.archive.importer import import_release
from tagwire_workbench.archive.release import COMPONENTS
from tagwire_workbench.archive.wire_facts import digest_of, wire_text

ROOT = Path(__file__).parents[1]
SPECS = ROOT / "message_specs" / "kafka"
HISTORY = read_history(SPECS / HISTORY_FILE)
REGISTRY = tagwire_messages.registry
JARS = os.environ.get("TAGWIRE_KAFKA_JARS", "")

RELEASES = (
    *("2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2"),
    *("3.0.2", "3.1.2", "3.2.3", "3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2"),
    *("4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
)

# Patterns for the text form of a layout. NAME matches a field name: an identifier before a type.
TYPE = r"compact |\w+\? \{|\{|\[\]|(?:u?int\d+|bool|float64|uuid|string|bytes)\b"
NAME = re.compile(rf"(?<!\w)(?!compact )[a-z]\w* (?={TYPE})")


def test_classes_and_history_have_the_same_versions() -> None:
    classes = {REGISTRY[name] for name in REGISTRY.names()}
    of_classes = {(cls.COMPONENT, cls.NAME, version) for cls in classes for version in cls.VERSIONS}
    of_history = {(*key, version) for key, message in HISTORY.messages.items() for version in message.versions}
    assert of_classes == of_history


@pytest.mark.parametrize("key", HISTORY.messages, ids="/".join)
def test_every_version_has_the_bytes_of_the_newest_release_that_has_it(key: tuple[str, str]) -> None:
    versions = HISTORY.messages[key].versions
    cls = REGISTRY[key[1]]
    found = {version: digest_of(wire_text(layout_of(cls, version))) for version in versions}
    assert found == {version: spans[-1].digest for version, spans in versions.items()}


def test_the_layouts_of_redefined_versions_are_written_out() -> None:
    spans = {
        span
        for message in HISTORY.messages.values()
        for version in message.redefined
        for span in message.versions[version]
    }
    assert len(spans) == 95
    assert [span for span in spans if digest_of(NAME.sub("", span.layout)) != span.digest] == []


def test_spans_are_in_the_order_of_releases() -> None:
    for key, message in HISTORY.messages.items():
        for version, spans in message.versions.items():
            ends = [release_order(release) for span in spans for release in (span.first, span.last)]
            assert ends == sorted(ends), (key, version)


def test_content_of_the_archive() -> None:
    pairs = [(key, version) for key, message in HISTORY.messages.items() for version in message.versions]
    redefined = [(key, version) for key, message in HISTORY.messages.items() for version in message.redefined]
    spans = [span for message in HISTORY.messages.values() for spans in message.versions.values() for span in spans]
    assert (len(HISTORY.messages), len(pairs), len(redefined)) == (291, 878, 42)
    assert sorted({release for span in spans for release in (span.first, span.last)}, key=release_order) == [*RELEASES]
    assert len(list(SPECS.glob("*/*.json"))) == 291


def listed_jars() -> list[tuple[str, str]]:
    lines = (ROOT / "message_specs" / "releases.txt").read_text().splitlines()
    return [(artifact, release) for artifact, _, release in (line.partition(":") for line in lines if line)]


def test_the_list_of_jars_agrees_with_the_history() -> None:
    jars = listed_jars()
    assert sorted(set(jars), key=lambda jar: (jar[0], release_order(jar[1]))) == jars
    of_component: dict[str, set[str]] = {component: set() for component in COMPONENTS.values()}
    for artifact, release in jars:
        of_component[COMPONENTS[artifact]].add(release)
    for (component, name), message in HISTORY.messages.items():
        known = {end for spans in message.versions.values() for span in spans for end in (span.first, span.last)}
        # The specs of some components used to be in the core artifact, so its releases are allowed too.
        assert known <= of_component[component] | of_component["core"], (component, name)
    assert sorted(of_component["clients"], key=release_order) == [*RELEASES]


@pytest.mark.slow
@pytest.mark.skipif(not JARS, reason="TAGWIRE_KAFKA_JARS names no folder with the jars of Kafka's releases")
def test_the_jars_of_all_releases_give_the_specs_byte_for_byte(tmp_path: Path) -> None:
    sources = [Path(JARS) / f"{artifact}-{release}.jar" for artifact, release in listed_jars()]
    import_release(sources, tmp_path)
    assert read_tree(tmp_path) == read_tree(SPECS)
