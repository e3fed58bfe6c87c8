import gzip
import re
from pathlib import Path

import pytest
from browsed import (
    HEARTBEAT,
    METADATA,
    REPLY,
    asynchronous,
    browsing,
    line,
    listing_of,
    press,
    registry,
    screen_text,
    settle,
    write_lines,
)

import tagwire_messages as messages

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return write_lines(
        tmp_path / "a.jsonl",
        line("req", METADATA, client_label="alice"),
        line("req", HEARTBEAT, 2),
        line("resp", REPLY, client_label="alice"),
        line("req", METADATA[:-3], 2),
        "not JSON",
    )


FIRST_SCREEN = """\
a.jsonl  5 frames
       # dir  API                    v      id    bytes client     connection
>      1 req  Metadata              12       7       20 alice      r 1
       2 req  Heartbeat              4       8       28            r 2
       3 resp Metadata              12       7       21 alice      r 1
 !     4 req  Metadata              12       7       17            r 2
 !     5 !    not a frame


frame 1, request, alice
▶ RequestHeader v2                     bytes 16-19 of 20
▼ MetadataRequest v12                       0 00 03 00 0c 00 00 00 07  ........
├ topics  0  nullable compact []Metada      8 00 05 61 6c 69 63 65 00  ..alice.
├ allow_auto_topic_creation  True  boo     16[01 01 00 00]             ....
├ include_topic_authorized_operations
└ tagged fields  0






MetadataRequest v12
 / filter  ! errors  p pair  g go to  f follow  ? help  q quit"""


@asynchronous
async def test_the_first_screen(capture: Path) -> None:
    async with browsing(listing_of(capture)) as (app, _):
        assert screen_text(app) == FIRST_SCREEN


@asynchronous
async def test_a_field_marks_its_bytes_and_a_byte_finds_its_field(capture: Path) -> None:
    async with browsing(listing_of(capture)) as (app, pilot):
        await press(pilot, "tab", "up", "enter", "down", "down", "down")
        assert (app.bytes.begin, app.bytes.end) == (4, 8)
        shown = screen_text(app)
        assert "[00 00 00 07]" in shown
        assert "bytes 4-7 of" in shown
        assert "correlation_id  7  int32" in shown
        await press(pilot, "tab", "right", "right", "right", "right", "down")
        assert app.fields.cursor_node is not None and app.fields.cursor_node.data is not None
        assert app.fields.cursor_node.data.path == "topics"
        assert app.bytes.cursor == 16


@asynchronous
async def test_a_byte_under_the_mouse_finds_its_field(capture: Path) -> None:
    async with browsing(listing_of(capture)) as (app, pilot):
        await pilot.click("#entries", offset=(20, 3))
        await settle(pilot)
        assert app.entries.entry == 2
        await pilot.click("#bytes", offset=(7, 1))  # the first byte, which belongs to the correlation ID
        await settle(pilot)
        assert (app.bytes.begin, app.bytes.end) == (0, 4)
        await pilot.click("#bytes", offset=(6 + 3 * 8 + 2 + 5, 1))  # the sixth byte, in the text column
        await settle(pilot)
        assert app.bytes.cursor == 5


@asynchronous
async def test_jumps_between_request_and_response(capture: Path) -> None:
    async with browsing(listing_of(capture)) as (app, pilot):
        await pilot.press("p")
        assert app.entries.entry == 2
        await pilot.press("p")
        assert app.entries.entry == 0
        await pilot.press("down", "p")
        assert app.entries.entry == 1
        assert [each.message for each in app._notifications] == ["this entry has no matching request or response"]
        assert app.apply_filter("dir=req")
        await pilot.press("home", "p")  # jump to the response, which clears the filter
        assert (app.entries.entry, app.entries.view.text) == (2, "")
        await pilot.press("g", "4", "enter")
        assert app.entries.entry == 3


@pytest.mark.thorough
@asynchronous
async def test_filters_are_typed(capture: Path) -> None:
    async with browsing(listing_of(capture)) as (app, pilot):
        await press(pilot, "slash", *"api", "equals_sign", *"Metadata", "space", *"dir", "equals_sign", *"req", "enter")
        assert [app.entries.view[index] for index in range(len(app.entries.view))] == [0, 3]
        assert "2 of 5 frames  filter api=Metadata dir=req" in screen_text(app)
        await press(pilot, "exclamation_mark")
        assert app.entries.view.text == "api=Metadata dir=req is=error"
        assert app.entries.entry == 3
        await press(pilot, "escape")
        assert (app.entries.view.text, app.entries.entry) == ("", 3)
        await pilot.press("c")
        assert app.entries.view.text == "conn='r 2'"
        await pilot.press("a")
        assert app.entries.view.text == "api=Metadata"
        await press(pilot, "slash", "space", *"zz", "enter")
        assert "nothing matches the filter; Escape clears it" in screen_text(app)
        await pilot.press("slash", "equals_sign", "enter")
        assert app.prompt.display  # the prompt must stay open so that the user can correct the filter
        await pilot.press("escape")
        assert not app.prompt.display


@asynchronous
async def test_filter_is_edited_at_its_end(capture: Path) -> None:
    async with browsing(listing_of(capture)) as (app, pilot):
        await pilot.press("c", "g", "1", "enter", "slash", "space", *"dir", "equals_sign", *"req", "enter")
        assert app.entries.view.text == "conn='r 1' dir=req"


@asynchronous
async def test_invalid_filter_is_reported(capture: Path) -> None:
    async with browsing(listing_of(capture)) as (app, pilot):
        assert not app.apply_filter("nope=1")
        await pilot.pause()
        [message] = [each.message for each in app._notifications]
        assert message.startswith("unknown filter 'nope'")
        assert len(app.entries.view) == 5


@asynchronous
async def test_error_is_shown_with_what_was_read(capture: Path) -> None:
    async with browsing(listing_of(capture)) as (app, pilot):
        await press(pilot, "down", "down", "down")
        shown = screen_text(app)
        assert "frame 4, request; ! MetadataRequest v12: " in shown
        assert "at byte 17" in shown and "▼ MetadataRequest v12" in shown
        await press(pilot, "down")
        assert "line 5 is not a captured frame: it is not valid JSON" in " ".join(screen_text(app).split())


@pytest.mark.thorough
@asynchronous
async def test_compressed_records_are_shown_decompressed() -> None:
    async with browsing(listing_of(DATA / "sample_log"), size=(120, 64)) as (app, pilot):
        await press(pilot, "g", "3", "enter", "tab", "end", "up", "up", "up")
        shown = screen_text(app)
        assert ", decompressed" in shown
        assert "[4]  key 'order-" in shown
        assert app.bytes.buffer.data != app.listing.explain(2).data
        begin = app.bytes.begin
        await press(pilot, "tab", "right")
        assert app.fields.cursor_node is not None and app.fields.cursor_node.data is not None
        assert app.fields.cursor_node.data.begin <= begin + 1 < app.fields.cursor_node.data.end


@asynchronous
async def test_long_arrays_are_opened_in_ranges(tmp_path: Path) -> None:
    topics = [{"name": f"t{number}"} for number in range(2500)]
    request = messages.DescribeTopicPartitionsRequest.from_json(
        {"topics": topics, "responsePartitionLimit": 1, "cursor": None}, 0
    )
    path = write_lines(tmp_path / "a.jsonl", line("req", registry.encode_request(request, 0)))
    async with browsing(listing_of(path)) as (app, pilot):
        offset = app.bytes.buffer.data.index(b"t2100")
        app.fields.reveal(app.bytes.buffer, offset)
        await settle(pilot)
        assert app.fields.cursor_node is not None and app.fields.cursor_node.data is not None
        assert app.fields.cursor_node.data.path == "topics[2100].name"
        shown = [str(node.label).split()[0] for node in app.fields.cursor_node.parent.parent.parent.children]  # type: ignore[union-attr]
        assert shown == ["[0-999]", "[1000-1999]", "[2000-2499]"]


@asynchronous
async def test_sensitive_bytes_are_hidden(tmp_path: Path) -> None:
    secret = registry.encode_request(messages.SaslAuthenticateRequest(auth_bytes=b"hunter2"), 2, correlation_id=1)
    path = write_lines(tmp_path / "a.jsonl", line("req", secret))
    async with browsing(listing_of(path)) as (app, _):
        shown = screen_text(app)
        assert "** ** **" in shown and "<hidden>" in shown
        assert "hunter" not in shown


@pytest.mark.parametrize("is_compressed", [False, True])
@asynchronous
async def test_a_growing_capture_is_followed(tmp_path: Path, is_compressed: bool) -> None:
    path = tmp_path / "a.jsonl"

    def add(text: str) -> None:
        with path.open("ab") as file:
            data = f"{text}\n".encode()
            file.write(gzip.compress(data) if is_compressed else data)

    add(line("req", METADATA))
    async with browsing(listing_of(path, follows=True), follows=True) as (app, pilot):
        assert "following" in screen_text(app)
        add(line("resp", REPLY))
        await settle(pilot, lambda: app.listing.count == 2 and app.entries.entry == 1)
        await pilot.press("f", "home")
        add(line("req", HEARTBEAT))
        await settle(pilot, lambda: app.listing.count == 3 and len(app.entries.view) == 3)
        assert app.entries.entry == 0
        assert app.apply_filter("api=Heartbeat")
        await settle(pilot, lambda: len(app.entries.view) == 1)
        add(line("req", HEARTBEAT))
        await settle(pilot, lambda: len(app.entries.view) == 2)


@pytest.mark.parametrize(
    "size", [(80, 24), *(pytest.param(size, marks=pytest.mark.thorough) for size in ((40, 12), (20, 6), (200, 60)))]
)
@asynchronous
async def test_terminals_of_every_size(capture: Path, size: tuple[int, int]) -> None:
    async with browsing(listing_of(capture), size=size) as (app, pilot):
        await pilot.press("down", "tab", "down", "tab", "right", "question_mark", "escape", "slash", "escape")
        await pilot.resize_terminal(size[0] + 20, size[1] + 3)
        await settle(pilot)
        assert "a.jsonl" in screen_text(app)


@asynchronous
async def test_no_colours(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with browsing(listing_of(capture)) as (app, pilot):
        await press(pilot, "down", "tab", "down")
        assert app.no_color
        styles = [part.style for strip in app.screen._compositor.render_strips() for part in strip]
        colours = {(style.color, style.bgcolor) for style in styles if style is not None}
        for pair in colours:
            for colour in pair:
                triplet = None if colour is None else colour.triplet
                assert triplet is None or triplet.red == triplet.green == triplet.blue
        assert any(style is not None and style.reverse for style in styles)


@pytest.mark.parametrize("data", [b"", b"\n"])
@asynchronous
async def test_an_empty_file(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    async with browsing(listing_of(path)) as (app, pilot):
        await settle(pilot)
        assert "the input is empty" in screen_text(app)
        await pilot.press("down", "end", "p", "a", "c", "exclamation_mark", "tab", "enter", "tab", "right", "f")


@asynchronous
async def test_removed_file_is_reported(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", line("req", METADATA), line("resp", REPLY))
    async with browsing(listing_of(path)) as (app, pilot):
        path.write_text("")
        await press(pilot, "down")
        assert "is not a captured frame" in screen_text(app)


@asynchronous
async def test_the_help_lists_keys_and_filters(capture: Path) -> None:
    async with browsing(listing_of(capture)) as (app, pilot):
        await pilot.press("question_mark")
        await pilot.pause()
        shown = screen_text(app)
        assert "go to the response of a request" in shown and "api=  version=" in shown
        await pilot.press("escape")
        assert app.focused is app.entries


@asynchronous
async def test_a_response_without_its_request_is_guessed(tmp_path: Path) -> None:
    equal = registry.encode_response(messages.HeartbeatResponse(), 1, correlation_id=7)
    path = write_lines(tmp_path / "a.jsonl", line("resp", REPLY), line("resp", equal))
    async with browsing(listing_of(path), size=(160, 30)) as (app, pilot):
        assert "frame 1, response; response MetadataResponse v" in screen_text(app)
        await press(pilot, "down")
        shown = screen_text(app)
        assert "this response was not captured" in shown and "several messages match these bytes" in shown
        assert "tagwire explain --response" in shown and "not read  10 bytes" in shown


def test_style_sheet_styles_parts_that_widgets_have() -> None:
    from tagwire_workbench.browsing import line_widgets

    sheet = Path(line_widgets.__file__).with_name("browser.tcss").read_text()
    parts = line_widgets.EntryList.COMPONENT_CLASSES | line_widgets.ByteView.COMPONENT_CLASSES
    assert set(re.findall(r"\.((?:list|bytes)--\w+)", sheet)) == parts
