from collections.abc import Callable
from pathlib import Path

import pytest
from browsed import line, listing_of, write_lines

from tagwire.captures import CapturedFrame, read
from tagwire_cli.explaining.units import explain_captured
from tagwire_workbench.browsing import frame_listing
from tagwire_workbench.browsing.frame_listing import FrameListing
from tagwire_workbench.browsing.listing import ExplainedEntry, searched_bytes_of

CAPTURES = Path(__file__).parents[2] / "data" / "captures" / "captures.jsonl.gz"
PRODUCE, FETCH = 0, 1


@pytest.fixture(scope="module")
def carriers() -> list[CapturedFrame]:
    found: dict[object, CapturedFrame] = {}
    for each in read(CAPTURES):
        if (
            each.api is not None
            and each.api[0] == (PRODUCE if each.is_request else FETCH)
            and 200 < len(each.data) < 9000
        ):
            found.setdefault((each.api, each.row["client_label"]), each)
    assert len(found) > 40
    return list(found.values())


def written(each: CapturedFrame, data: bytes) -> str:
    assert each.api is not None
    return line("req" if each.is_request else "resp", data, api_key=each.api[0], api_version=each.api[1])


@pytest.mark.thorough
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda data: data, id="as they are"),
        pytest.param(lambda data: data[:-30] + bytes([data[-30] ^ 1]) + data[-29:], id="a bit flipped"),
        pytest.param(lambda data: data[:-1], id="cut"),
    ],
)
def test_records_agree_with_the_trace(
    tmp_path: Path, carriers: list[CapturedFrame], change: Callable[[bytes], bytes]
) -> None:
    path = write_lines(tmp_path / "a.jsonl", *(written(each, change(each.data)) for each in carriers))
    listing = listing_of(path)
    assert isinstance(listing, FrameListing)
    listing.read_all()
    for entry in range(listing.count):
        frame = listing.file.frame(listing.table, entry)
        shown = explain_captured(listing.settings, frame)
        assert bool(listing.error_of(entry)) == bool(shown.failure), entry
        assert sorted(list(listing.searched_bytes(entry))[1:]) == sorted(
            searched_bytes_of(ExplainedEntry(frame.data, shown))
        ), entry


def test_records_that_are_fine_need_no_trace(
    tmp_path: Path, carriers: list[CapturedFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Older versions are left out, because they may contain wrapper messages, which need a trace.
    current = [each for each in carriers if each.api in ((PRODUCE, 9), (FETCH, 12))]
    listing = listing_of(write_lines(tmp_path / "a.jsonl", *(written(each, each.data) for each in current)))
    listing.read_all()
    assert isinstance(listing, FrameListing) and listing.count > 1
    monkeypatch.delattr(frame_listing, "explain_captured")
    for entry in range(listing.count):
        assert not listing.error_of(entry)
        assert list(listing.searched_bytes(entry))
