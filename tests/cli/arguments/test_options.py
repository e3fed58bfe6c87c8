import click
import pytest

from tagwire_cli.arguments.options import seconds_from


@pytest.mark.parametrize("text", ["0.01", "1.5", "1000000", "1e6"])
def test_seconds_within_the_limits(text: str) -> None:
    assert seconds_from(0.01)(text) == float(text)


@pytest.mark.parametrize("text", ["0", "0.009", "1000000.1", "-1", "nan", "inf", "soon"])
def test_seconds_out_of_range(text: str) -> None:
    with pytest.raises(click.BadParameter, match=f"expected a number of seconds from 0.01 to 1000000, got {text}"):
        seconds_from(0.01)(text)
