import json

import pytest
from command import tagwire_result


@pytest.mark.parametrize(
    "words", [("show", "MessageV1", "--version", "0"), ("diff", "MessageV1", "0", "1"), ("decode", "MessageV1", "0")]
)
def test_commands_about_versions_reject_record_formats(words: tuple[str, ...]) -> None:
    assert "is a record format" in tagwire_result(*words, "--package", "tagwire_records", code=2).stderr


def test_a_format_is_shown_as_it_is_on_the_wire() -> None:
    result = tagwire_result("show", "MessageV1", "--package", "tagwire_records", code=0)
    assert result.stdout.startswith("MessageV1: record format v1, at least 34 bytes")
    assert [line.split()[0] for line in result.stdout.splitlines()[3:]][-2:] == ["key", "value"]
    facts = json.loads(tagwire_result("show", "MessageV1", "--json", "--package", "tagwire_records").stdout)
    assert facts["format"] == "v1" and facts["items"][0]["name"] == "offset"
