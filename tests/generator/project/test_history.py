from pathlib import Path

import pytest

from tagwire.errors import SpecError
from tagwire_generator.project.history import History, MessageHistory, ReleaseSpan, read_history, release_order

A, B = "0123456789abcdef", "fedcba9876543210"
HISTORY = History(
    {
        ("remote-log", "FooRecord"): MessageHistory({0: (ReleaseSpan("4.0.0", "4.0.0", A),)}),
        ("clients", "FooRequest"): MessageHistory(
            {
                10: (ReleaseSpan("3.9.2", "3.9.2", A), ReleaseSpan("4.1.2", "4.4.0", A)),
                9: (ReleaseSpan("3.9.2", "4.0.0", A, "a int32"), ReleaseSpan("4.1.2", "4.4.0", B, "a int64")),
            }
        ),
    }
)
TEXT = f"""\
# The releases that have each version of each message, and a digest of the version's encoding.
# Written by `tagwire import` with the specs, and checked by tests; do not edit.

[clients.FooRequest]
9 = ["3.9.2 to 4.0.0: {A}", "4.1.2 to 4.4.0: {B}"]
10 = ["3.9.2: {A}", "4.1.2 to 4.4.0: {A}"]

[remote-log.FooRecord]
0 = "4.0.0: {A}"

# Encodings of versions that were redefined.
[layouts]
"{A}" = "a int32"
"{B}" = "a int64"
"""


def read(folder: Path, text: str) -> History:
    (folder / "history.toml").write_text(text)
    return read_history(folder / "history.toml")


def test_the_text_of_a_history() -> None:
    assert str(HISTORY) == TEXT


def test_written_history_is_read_back(tmp_path: Path) -> None:
    found = read(tmp_path, TEXT)
    assert str(found) == TEXT
    assert found.messages["clients", "FooRequest"].versions[9] == HISTORY.messages["clients", "FooRequest"].versions[9]
    assert {key: message.redefined for key, message in found.messages.items()} == {
        ("clients", "FooRequest"): (9,),
        ("remote-log", "FooRecord"): (),
    }


def test_without_redefined_versions_there_are_no_layouts(tmp_path: Path) -> None:
    text = TEXT.partition("# Encodings of")[0].replace(B, A).rstrip("\n") + "\n"
    assert str(read(tmp_path, text)) == text and "layouts" not in text


def test_a_layout_has_the_names_of_the_newest_release() -> None:
    old, new = ReleaseSpan("3.9.2", "3.9.2", A, "old int32"), ReleaseSpan("3.10.0", "3.10.0", A, "new int32")
    other = ReleaseSpan("4.0.0", "4.0.0", B, "x int8")
    messages = {
        ("clients", name): MessageHistory({0: (span, other)}) for name, span in (("A", new), ("B", old), ("C", new))
    }
    assert f'"{A}" = "new int32"' in str(History(messages))


def test_a_component_may_be_called_layouts(tmp_path: Path) -> None:
    history = History({("layouts", "Foo"): HISTORY.messages["clients", "FooRequest"]})
    assert str(read(tmp_path, str(history))) == str(history)


DIGEST = f'"4.4.0: {A}"'
VALUES = [
    "3",
    "[3]",
    "[]",
    '""',
    f'"4.4.0 to : {A}"',
    f'"4.4.0: {A}0"',
    f'"4.4.0: {A.upper()}"',
    f"{DIGEST}\n0 = {DIGEST}",
]
ENTRIES = [*(f"0 = {value}" for value in VALUES), *(f"{key} = {DIGEST}" for key in ("zero", "-1", "9" * 6))]
NO_TABLES = ["[clients", "clients = 3", "clients = [[0]]", 'layouts = "x"', "[clients]\nFooRequest = 3"]
OTHERS = [f"[FooRequest]\n0 = {DIGEST}", "x = " + "[" * 5000 + "]" * 5000]


@pytest.mark.parametrize("text", [*NO_TABLES, *OTHERS, *(f"[clients.FooRequest]\n{entry}" for entry in ENTRIES)])
def test_damaged_file_is_rejected(tmp_path: Path, text: str) -> None:
    message = r"history\.toml was not written by `tagwire import`: .*; import the specs again"
    with pytest.raises(SpecError, match=message) as caught:
        read(tmp_path, text)
    assert caught.value.file == str(tmp_path / "history.toml")


def test_file_that_can_t_be_read_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="can't be read: No such file"):
        read_history(tmp_path / "history.toml")
    (tmp_path / "history.toml").write_bytes(b"\xff")
    with pytest.raises(SpecError, match="was not written by `tagwire import`"):
        read_history(tmp_path / "history.toml")


def test_releases_are_ordered_by_their_numbers() -> None:
    oldest_first = [
        "2.8.2", "3.0.0-SNAPSHOT", "3.0.0-rc2", "3.0.0-rc10", "3.0.0", "3.9", "3.9.0", "3.9.2",
        "3.10.0-alpha", "3.10.0", "4.0", "10.0",
    ]  # fmt: skip
    newest_first = oldest_first[::-1]
    assert sorted(newest_first, key=release_order) == oldest_first
