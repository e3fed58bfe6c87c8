"""Helpers for tests of `tagwire browse`: write captures, list files, and run the browser with key presses."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

import tagwire_messages as messages
from tagwire.limits import DEFAULT_LIMITS
from tagwire.records.format_set import format_set
from tagwire_cli.explaining.units import ExplainSettings
from tagwire_workbench.browsing.app import Browser
from tagwire_workbench.browsing.listing import Listing
from tagwire_workbench.browsing.opening import OpenOptions, open_listing

__all__ = ["METADATA", "REPLY", "browse", "line", "listing_of", "screen_text", "settle", "write_lines"]

registry = messages.registry
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
    return open_listing(path, OpenOptions(settings, 9092, stream, is_log, follows))


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


async def browse(
    listing: Listing,
    steps: Callable[[Browser, Pilot[None]], Awaitable[None]],
    *,
    size: tuple[int, int] = (80, 24),
    text: str = "",
    follows: bool = False,
) -> None:
    """Run the browser, wait until everything is read, and then await `steps(browser, pilot)`."""
    app = Browser(listing, registry, "a.jsonl", text=text, follows=follows)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, (lambda: app.listing.count > 0) if follows else None)
        await steps(app, pilot)
