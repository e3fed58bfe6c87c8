import pytest

from tagwire_cli.output.echo import is_colored, say, say_patch


@pytest.mark.parametrize("text", ["", "+a\n", "-\x1b[31m\n+b\n", "+without a line break"])
def test_a_patch_is_printed_unchanged(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    say_patch(text)
    assert capsys.readouterr() == (text, "")


def test_line_breaks_are_escaped_except_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    say("a\nb")
    say("a\nb", lines=True)
    assert capsys.readouterr() == ("a\\nb\na\nb\n", "")


def test_colour_is_for_terminals_without_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert is_colored(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not is_colored(Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not is_colored(Terminal())
