from pathlib import Path

import pytest
from browsed import found, read_listing

from tagwire_cli.input.filters import FilterError


@pytest.mark.parametrize(("text", "numbers"), [
    ("", [1, 2, 3, 4, 5, 7]), ("api=metadata", [1, 3, 5]), ("api=MetadataRequest,12", [1, 2, 3, 5]),
    ("-api=3", [2, 4, 7]), ("api=3 dir=req", [1, 5]), ("dir=response", [3, 7]), ("version=5-", [1, 3, 5]),
    ("version=0-4", [2]), ("id=8", [2]), ("conn='r 2'", [2, 5]), ("client=ALICE", [1]), ("is=error", [4, 5]),
    ("-is=error dir=req", [1, 2]), ("ORDERS", [2]), ("alice", [1, 5]), ("'alice'\"'\"'s tool'", [1]),
    ("text=orders", [2]), ("nothing", []),
])  # fmt: skip
def test_filters(capture: Path, text: str, numbers: list[int]) -> None:
    assert found(read_listing(capture), text) == numbers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("apis=Fetch", "unknown filter 'apis'; did you mean 'api'?"),
        ("api=", "the filter 'api' has no value"),
        ("api=Fetsch", "api=Fetsch: unknown API; did you mean 'Fetch'?"),
        ("version=x", "version=x: expected a number or a range such as 3-5, got 'x'"),
        ("id=3,9-5", "id=3,9-5: expected a number or a range such as 3-5, got '9-5'"),
        ("dir=up", "dir=up: expected 'request' or 'response'"),
        ("is=odd", "is=odd: expected 'error'"),
        ('"a', "invalid filter '\"a': no closing quotation"),
    ],
)
def test_filters_that_make_no_sense(capture: Path, text: str, message: str) -> None:
    with pytest.raises(FilterError) as error:
        found(read_listing(capture), text)
    assert str(error.value).startswith(message)
