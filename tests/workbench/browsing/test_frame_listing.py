from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsed import found, line, read_listing, write_lines
from build_package import build_package

from tagwire.captures import CapturedFrame, read
from tagwire_cli.explaining.units import explain_captured
from tagwire_workbench.browsing import frame_listing
from tagwire_workbench.browsing.frame_listing import FrameListing
from tagwire_workbench.browsing.listing import ExplainedEntry, searched_bytes_of

CAPTURES = Path(__file__).parents[2] / "data" / "captures" / "captures.jsonl.gz"
PRODUCE, FETCH = 0, 1


@pytest.fixture(scope="module")
def carriers() -> list[CapturedFrame]:
    frames: dict[object, CapturedFrame] = {}
    for each in read(CAPTURES):
        key = PRODUCE if each.is_request else FETCH
        if each.api is not None and each.api[0] == key and 200 < len(each.data) < 9000:
            frames.setdefault((each.api, each.row["client_label"]), each)
    assert len(frames) > 40
    return list(frames.values())


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
    listing = read_listing(path)
    assert isinstance(listing, FrameListing)
    for entry in range(listing.count):
        frame = listing.file.frame(listing.table, entry)
        shown = explain_captured(listing.settings, frame)
        assert bool(listing.error_of(entry)) == bool(shown.failure), entry
        expected = searched_bytes_of(ExplainedEntry(frame.data, shown))
        assert sorted(list(listing.searched_bytes(entry))[1:]) == sorted(expected), entry


def test_records_that_are_fine_need_no_trace(
    tmp_path: Path, carriers: list[CapturedFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Older versions are left out, because they may contain wrapper messages, which need a trace.
    current = [each for each in carriers if each.api in ((PRODUCE, 9), (FETCH, 12))]
    listing = read_listing(write_lines(tmp_path / "a.jsonl", *(written(each, each.data) for each in current)))
    assert isinstance(listing, FrameListing) and listing.count > 1
    monkeypatch.delattr(frame_listing, "explain_captured")
    for entry in range(listing.count):
        assert not listing.error_of(entry)
        assert list(listing.searched_bytes(entry))


def spec(kind: str, name: str, *fields: tuple[str, str], **keys: int) -> dict[str, Any]:
    rows = [{"name": each, "type": type, "versions": "0+"} for each, type in fields]
    head = {"type": kind, "name": name, "validVersions": "0-1", "flexibleVersions": "none", "fields": rows}
    return head | keys


SPECS = [
    spec("header", "RequestHeader", ("RequestApiKey", "int16"), ("RequestApiVersion", "int16")),
    spec("header", "ResponseHeader", ("Hops", "int8")),
    spec("request", "AskRequest", ("Question", "string"), apiKey=4),
    spec("response", "AskResponse", ("Answer", "string"), apiKey=4),
]


@pytest.mark.usefixtures("own_modules")
def test_responses_without_correlation_ids_belong_to_requests_by_order(tmp_path: Path) -> None:
    asking: Any = build_package(tmp_path, "asking", SPECS)
    ask = [asking.registry.encode_request(asking.AskRequest(question=each), 0) for each in ("who", "why")]
    answers = [asking.registry.encode_response(asking.AskResponse(answer=each), 0) for each in ("I", "so", "no")]
    lines = [line("req", ask[0]), line("req", ask[1], 2), line("req", ask[1])]
    lines += [line("resp", each) for each in answers]
    listing = read_listing(write_lines(tmp_path / "a.jsonl", *lines), package=asking.registry)
    assert isinstance(listing, FrameListing)
    assert [listing.partner(entry) for entry in range(6)] == [3, None, 4, 0, 2, None]
    assert [listing.cells(entry)[4] for entry in range(6)] == [""] * 6
    [trace] = listing.look(4).explained.traces
    assert [node.value for part in trace.parts for node in part.walk() if node.path == "answer"] == ["so"]
    assert found(listing, "id=0") == []
