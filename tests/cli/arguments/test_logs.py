import click
import pytest

from tagwire.log import LogError
from tagwire_cli.arguments.logs import Skipped


@pytest.mark.parametrize(("errors", "lines", "more"), [(1, 1, ""), (100, 100, ""), (101, 101, "1 more")])
def test_most_errors_are_reported_each(errors: int, lines: int, more: str, capsys: pytest.CaptureFixture[str]) -> None:
    skipped = Skipped()
    for position in range(errors):
        for _ in range(2):  # a repeated error must be reported only once
            skipped(LogError("a.log", "TWL105", offset=position, found="nothing", expected="a record"))
    with pytest.raises(click.exceptions.Exit) as ended:
        skipped.end()
    printed = capsys.readouterr().err.splitlines()
    assert (ended.value.exit_code, len(printed)) == (1, lines)
    assert printed[-1].endswith(more) and all(line.startswith("tagwire: skipped: ") for line in printed)
