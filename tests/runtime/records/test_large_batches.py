import tracemalloc
from typing import Any

import pytest
from native_engine import forget_engine

from tagwire import EncodeError
from tagwire.records import BatchBuilder, Record, build, building, conversion, convert, format_set, read_batches
from tagwire.records.record import HeaderMap

_FORMATS = ("v0", "v1", "v2", "v3", "kip87", "kip82-int")


def records(count: int = 10, attributes: int = 0) -> list[Record]:
    last = [Record(count * 2, 900 - count, b"k", b"v", attributes=attributes)]
    return [Record(2 * n, 300 + n, b"k%d" % n if n % 3 else None, b"v" * n) for n in range(count)] + last


@pytest.fixture(params=[2, 3, 11])
def at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that makes the library process only a few records at a time."""

    def few() -> None:
        monkeypatch.setattr(building, "AT_ONCE", request.param)
        monkeypatch.setattr(conversion, "AT_ONCE", request.param)

    return few


@pytest.mark.parametrize(
    ("source", "to", "codec", "attributes"),
    [
        *((source, to, "none", 0) for source in ("v1", "v2", "v3") for to in _FORMATS),
        # With gzip, v1 is written as a wrapper, v3 as a compressed batch, and kip82-int as a wrapper with headers.
        *(("v2", to, "gzip", 0) for to in ("v1", "v3", "kip82-int")),
        # In these rows, the last record has an attribute bit.
        *(("v2", "v3", "none", attributes) for attributes in (1, 4)),
    ],
)
def test_a_batch_in_parts_is_the_batch_at_once(source: str, to: str, codec: str, attributes: int, at_once: Any) -> None:
    batch = build(records(attributes=attributes), source, compression="gzip")
    whole, losses = convert(batch, to, compression=codec)
    at_once()
    again, reported = convert(batch, to, compression=codec)
    assert again.encode() == whole.encode()
    assert sorted(map(repr, reported)) == sorted(map(repr, losses))


def test_a_record_that_cannot_be_written_is_named_by_its_number(at_once: Any) -> None:
    bad = [*records(), Record(1 << 40, 5, b"k", b"v")]
    at_once()
    for target in ("v2", "v3"):
        with pytest.raises(EncodeError) as raised:
            BatchBuilder(format_set.format_of(target)).build_of(iter(bad))
        assert raised.value.path.startswith("records[11]")


@pytest.mark.parametrize("target", ["v0", "v2"])
def test_objects_that_are_not_records_are_rejected_at_any_position(target: str, at_once: Any) -> None:
    at_once()
    records_and_none: list[Any] = [*(Record(n, -1, b"k", b"v") for n in range(11)), None]
    with pytest.raises(EncodeError) as raised:
        BatchBuilder(format_set.format_of(target)).build_of(iter(records_and_none))
    assert raised.value.path == "records[11]"


def test_headers_of_a_map_get_their_order_in_every_part(at_once: Any) -> None:
    unordered = HeaderMap([(-1, b"last"), (1, b"first")])
    given = [Record(n, 5, b"k", b"v", headers=unordered) for n in range(11)]
    format = format_set.format_of("kip82-int")
    whole = BatchBuilder(format).extend(given).build()
    at_once()
    again = BatchBuilder(format).build_of(iter(given))
    assert again.encode() == whole.encode()


def test_a_batch_of_the_pure_engine_holds_no_copy_of_its_records(monkeypatch: pytest.MonkeyPatch) -> None:
    data = build([Record(0, 1, b"k", bytes(10_000_000))]).encode()
    monkeypatch.setenv("TAGWIRE_ENGINE", "python")
    forget_engine()
    tracemalloc.start()
    [batch] = read_batches(data)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert batch.base_offset == 0 and held < 1_000_000
