import pickle

import pytest

from tagwire.errors import DecodeError, SchemaError
from tagwire.layout import Layout
from tagwire.records import FormatError, FormatSet, Record, build, format_of, read_batches
from tagwire.records.format_set import format_set
from tagwire.records.opening import trace_batches
from tagwire_drafts.kip87 import MessageKip87

ONE = [Record(0, -1, b"k", b"v")]


@pytest.mark.parametrize(("given", "names"), [
    ("auto", "v0 v1 v2 v3"), ("v0", "v0 v1 v2"), ("v2", "v0 v1 v2"), ("kip87", "v0 v1 kip87"),
    ("kip82-str", "v0 v1 kip82-str"), ("v3-zigzag", "v0 v1 v2 v3-zigzag"), ("kip87,v3", "v0 v1 kip87 v3"),
    (["v3-zigzag", "kip82-int"], "v0 v1 kip82-int v3-zigzag"), (format_of("kip87"), "v0 v1 kip87"),
])  # fmt: skip
def test_formats_selected_by_name(given: object, names: str) -> None:
    found = format_set(given)
    assert [each.name for each in found.formats] == names.split()
    again = pickle.loads(pickle.dumps(found))
    assert again == found and hash(again) == hash(found) and again.name == found.name
    assert format_set(found) is found


def test_format_class_selects_its_magic_byte() -> None:
    data = build(ONE, "v0").encode() + build([ONE[0].replace(offset=1, timestamp=5)], "kip87").encode()
    assert [batch.format for batch in read_batches(data, MessageKip87)] == ["v0", "kip87"]


@pytest.mark.parametrize("name", ["v0", "v1", "v2", "kip82-int", "kip82-str", "kip87", "v3", "v3-zigzag"])
def test_only_one_format_is_read(name: str) -> None:
    others = [each for each in ("v0", "v1", "kip87", "v3") if format_of(each).magic != format_of(name).magic]
    own = build(ONE, name).encode()
    assert [batch.format for batch in read_batches(own, name, only=True)] == [name]
    for other in others:
        with pytest.raises(DecodeError):
            list(read_batches(build(ONE, other).encode(), name, only=True))
        [trace] = trace_batches(build(ONE, other).encode(), name, only=True)
        assert trace.error is not None
    assert format_set(FormatSet(name), only=True).alone is format_of(name)


@pytest.mark.parametrize(
    ("names", "only", "sentence"),
    [
        (("kip87", "v2"), False, "kip87 and v2 both have magic 2"),
        (("v3", "v3-zigzag"), True, "v3 and v3-zigzag both have magic 3"),
        (("v9",), False, "there is no record format 'v9'; the known formats are v0, v1, v2, "),
        ((), True, "only=True requires a specific format"),
    ],
)
def test_contradictory_format_sets_are_rejected(names: tuple[str, ...], only: bool, sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        FormatSet(*names, only=only)
    with pytest.raises(FormatError):
        format_set("auto", only=True)


def test_unknown_magic_byte_is_reported_with_those_that_are_known() -> None:
    data = bytearray(build(ONE, "v1").encode())
    for data[16], format, known in (
        (9, "auto", "0, 1, 2 or 3$"),
        (9, "kip87", "0, 1 or 2$"),
        (3, "auto", r"0, 1, 2 or 3 \(magic 3 is v3, with the magic byte elsewhere\)$"),
    ):
        with pytest.raises(DecodeError, match=f"found magic {data[16]}, expected a batch of magic {known}"):
            list(read_batches(bytes(data), format))


@pytest.mark.parametrize("name", ["v3", "v3-zigzag"])
def test_truncated_batch_after_complete_batches(name: str) -> None:
    """Complete batches before a truncated batch must be read, even if batch lengths are varints."""
    first = build(ONE, "v0").encode()
    for size in (1, 100, 9000, 200_000):
        second = build([Record(1, 5, b"k", bytes(size))], name).encode()
        assert [batch.format for batch in read_batches(first + second, name, partial=True)] == ["v0", name]
        for cut in (1, len(second) // 2, len(second) - 17):
            data = first + second[: len(second) - cut]
            assert [batch.format for batch in read_batches(data, name, partial=True)] == ["v0"]


def test_a_set_is_named_as_a_user_would_write_it() -> None:
    given = ("auto", "v3", "kip87,v3", FormatSet("v3", only=True), FormatSet("v0", only=True))
    assert [format_set(each).name for each in given] == ["auto", "auto", "kip87,v3", "v3", "v0"]


@pytest.mark.parametrize(
    ("removed", "sentence"),
    [
        ("base_offset", "the record format short needs a field for base_offset; its fields are"),
        ("attributes", "the record format short needs a field for attributes; its fields are"),
        ("records", "the record format short needs an array of records, or the fields key and value"),
    ],
)
def test_layout_without_a_required_item_is_not_a_record_format(removed: str, sentence: str) -> None:
    root = format_of("v2").root
    items = tuple(item for item in root.items if item.name != removed)
    with pytest.raises(SchemaError) as caught:
        format_of(Layout("short", None, root.replace(items=items)))
    assert str(caught.value).startswith(sentence)
