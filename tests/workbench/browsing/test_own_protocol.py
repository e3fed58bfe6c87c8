from pathlib import Path
from typing import Any

import pytest
from browsed import line, listing_of, write_lines
from build_package import build_package

from tagwire_cli.input.filters import parse_filter
from tagwire_workbench.browsing.frame_listing import FrameListing
from tagwire_workbench.browsing.view import View


def header(name: str, *fields: tuple[str, str]) -> dict[str, Any]:
    rows = [{"name": each, "type": type, "versions": "0+"} for each, type in fields]
    return {"type": "header", "name": name, "validVersions": "0-1", "flexibleVersions": "none", "fields": rows}


def message(kind: str, field: str) -> dict[str, Any]:
    rows = [{"name": field, "type": "string", "versions": "0+"}]
    more = {"name": f"Ask{kind.title()}", "validVersions": "0", "flexibleVersions": "none", "fields": rows}
    return {"type": kind, "apiKey": 4, **more}


MESSAGES = [message("request", "Question"), message("response", "Answer")]
HEADER_FIELDS = (("RequestApiKey", "int16"), ("RequestApiVersion", "int16"))


@pytest.mark.usefixtures("own_modules")
def test_responses_without_correlation_ids_belong_to_requests_by_order(tmp_path: Path) -> None:
    headers = [header("RequestHeader", *HEADER_FIELDS), header("ResponseHeader", ("Hops", "int8"))]
    asking: Any = build_package(tmp_path, "asking", [*headers, *MESSAGES])
    ask = [asking.registry.encode_request(asking.AskRequest(question=each), 0) for each in ("who", "why")]
    answers = [asking.registry.encode_response(asking.AskResponse(answer=each), 0) for each in ("I", "so", "no")]
    lines = [line("req", ask[0]), line("req", ask[1], 2), line("req", ask[1])]
    lines += [line("resp", answers[0]), line("resp", answers[1]), line("resp", answers[2])]
    listing = listing_of(write_lines(tmp_path / "a.jsonl", *lines), package=asking.registry)
    assert isinstance(listing, FrameListing)
    listing.read_all()
    assert [listing.partner(entry) for entry in range(6)] == [3, None, 4, 0, 2, None]
    assert [listing.cells(entry)[4] for entry in range(6)] == [""] * 6
    [trace] = listing.look(4).explained.traces
    assert [node.value for part in trace.parts for node in part.walk() if node.path == "answer"] == ["so"]
    view = View(listing, parse_filter("id=0", listing.keys))
    while view.advance():
        pass
    assert len(view) == 0
