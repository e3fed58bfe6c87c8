"""The highest stable version that both sides have."""

from types import SimpleNamespace
from typing import Any

import pytest
from sample_messages.poll import PollRequest, PollResponse, WipeRequest
from sample_messages.records import SeatKey

from tagwire.errors import UnsupportedVersionError
from tagwire.frames.negotiation import NoCommonVersionError, negotiate
from tagwire.message import Message


def api_versions(**ranges: Any) -> SimpleNamespace:
    keys = [
        SimpleNamespace(api_key=int(key[1:]), min_version=low, max_version=high) for key, (low, high) in ranges.items()
    ]
    return SimpleNamespace(api_keys=tuple(keys))


@pytest.mark.parametrize(
    ("message", "theirs", "version"),
    [
        (PollRequest, (0, 9), 2),  # 3 is not stable
        (PollRequest, (0, 1), 1),
        (PollRequest, (2, 2), 2),
        (PollRequest, (-1, 0), 0),
        (PollResponse, (0, 9), 3),
    ],
)
def test_the_highest_common_version(message: type[Message], theirs: tuple[int, int], version: int) -> None:
    assert negotiate(message, {7: theirs, 3: (0, 0)}) == version
    assert negotiate(message, api_versions(k3=(0, 0), k7=theirs)) == version


@pytest.mark.parametrize(
    ("message", "theirs", "text"),
    [
        (PollRequest, (3, 5), "PollRequest: no common version: stable versions here are 0-2, the peer has 3-5"),
        (PollRequest, (2, 1), "PollRequest: no common version: stable versions here are 0-2, the peer lacks the API"),
        (PollRequest, None, "PollRequest: no common version: stable versions here are 0-2, the peer lacks the API"),
        (WipeRequest, (0, 5), "WipeRequest: no common version: stable versions here are none, the peer has 0-5"),
        (SeatKey, None, "SeatKey: no common version: stable versions here are 0, the peer lacks the API"),
    ],
)
def test_no_common_version_names_both_ranges(message: type[Message], theirs: tuple[int, int] | None, text: str) -> None:
    peer = {} if theirs is None else {message.API_KEY: theirs}
    with pytest.raises(NoCommonVersionError) as caught:
        negotiate(message, peer)
    assert str(caught.value) == text
    assert isinstance(caught.value, UnsupportedVersionError)
    with pytest.raises(NoCommonVersionError):
        negotiate(message, api_versions(**({} if theirs is None else {f"k{message.API_KEY}": theirs})))
