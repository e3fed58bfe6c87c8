import pytest

from tagwire_cli.output import tables
from tagwire_cli.output.tables import TableColumn, print_table

COLUMNS = (TableColumn("name"), TableColumn("size", is_number=True))


@pytest.mark.parametrize("coloured", [False, True])
def test_each_row_is_printed(
    coloured: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tables, "is_colored", lambda _: coloured)
    monkeypatch.setenv("COLUMNS", "80")
    print_table(COLUMNS, [("a[b]", "7"), ("[red]", "12")])
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == ["name   size", "a[b]      7", "[red]    12"]
