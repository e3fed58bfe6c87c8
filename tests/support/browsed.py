"""Helpers for tests of `tagwire browse`: write, list and filter captures, and run the browser with key presses."""

import asyncio
import functools
import json
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ParamSpec

from textual.pilot import Pilot

import tagwire_messages as messages
from tagwire.limits import DEFAULT_LIMITS
from tagwire.records.format_set import format_set
from tagwire_cli.explaining.units import ExplainSettings
from tagwire_cli.input.filters import parse_filter
from tagwire_workbench.browsing.app import Browser
from tagwire_workbench.browsing.listing import Listing
from tagwire_workbench.browsing.opening import open_listing
from tagwire_workbench.browsing.view import View

registry = messages.registry
HEARTBEAT = registry.encode_request(messages.HeartbeatRequest(group_id="orders"), 4, correlation_id=8, client_id="bob")
METADATA = registry.encode_request(messages.MetadataRequest(), 12, correlation_id=7, client_id="alice")
REPLY = registry.encode_response(messages.MetadataResponse(cluster_id="blue"), 12, correlation_id=7)


def line(direction: str, data: bytes, conn: int = 1, **more: Any) -> str:
    """Return a line of a capture, which is a JSON object. The members in `more` are added to it, or replace others."""
    return json.dumps({"run": "r", "conn": conn, "dir": direction, "hex": data.hex()} | more)


def write_lines(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{each}\n" for each in lines))
    return path


def listing_of(
    path: Path, *, follows: bool = False, stream: str | None = None, is_log: bool = False, package: Any = registry
) -> Listing:
    settings = ExplainSettings(package, "capture", (), format_set("auto"), None, True, True, DEFAULT_LIMITS)
    return open_listing(path, settings, port=9092, stream=stream, is_log=is_log, follows=follows)


def read_listing(path: Path, **words: Any) -> Listing:
    listing = listing_of(path, **words)
    listing.read_all()
    return listing


def found(listing: Listing, text: str) -> list[int]:
    """Return the numbers of the entries that match a filter."""
    view = View(listing, parse_filter(text, listing.keys), text)
    while view.advance():
        pass
    return [listing.number(view[index]) for index in range(len(view))]


def screen_text(app: Browser) -> str:
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(part.text for part in strip).rstrip() for strip in strips)


async def settle(pilot: Pilot[None], until: Callable[[], bool] | None = None) -> None:
    """Wait until everything is read and drawn. If `until` is given, wait until it returns true."""
    app = pilot.app
    assert isinstance(app, Browser)
    for _ in range(2000):
        await pilot.pause()
        app.take_over()
        if app.reader.is_idle if until is None else until():
            break
        await pilot.pause(0.01)
    else:
        raise AssertionError("the browser is still reading or drawing")
    app.take_over()
    await pilot.pause()


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Press keys, and wait until everything is read and drawn."""
    await pilot.press(*keys)
    await settle(pilot)


@asynccontextmanager
async def browsing(
    listing: Listing, *, size: tuple[int, int] = (80, 24), follows: bool = False
) -> AsyncGenerator[tuple[Browser, Pilot[None]]]:
    """Run the browser, and wait until everything is read."""
    app = Browser(listing, registry, "a.jsonl", follows=follows)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, (lambda: app.listing.count > 0) if follows else None)
        yield app, pilot


P = ParamSpec("P")


def asynchronous(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Turn a coroutine function into a test that pytest can run. Use it as a decorator."""

    @functools.wraps(test)
    def run(*fixtures: P.args, **by_name: P.kwargs) -> None:
        asyncio.run(test(*fixtures, **by_name))

    return run
