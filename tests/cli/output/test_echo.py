import pytest

from tagwire_cli.output.echo import say, say_patch


@pytest.mark.parametrize("text", ["", "+a\n", "-\x1b[31m\n+b\n", "+without a line break"])
def test_a_patch_is_printed_unchanged(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    say_patch(text)
    assert capsys.readouterr() == (text, "")


def test_line_breaks_are_escaped_except_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    say("a\nb")
    say("a\nb", lines=True)
    assert capsys.readouterr() == ("a\\nb\na\nb\n", "")
