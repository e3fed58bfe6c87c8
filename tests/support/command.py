"""Run `tagwire` commands in this process."""

from click.testing import CliRunner, Result

from tagwire_cli.app import app

__all__ = ["tagwire_outcome", "tagwire_result"]


def tagwire_result(*words: object, stdin: str | bytes | None = None, code: int | None = None) -> Result:
    result = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
    assert code is None or result.exit_code == code, result.output
    return result


def tagwire_outcome(*words: object, stdin: str | bytes | None = None) -> tuple[int, str, str]:
    result = tagwire_result(*words, stdin=stdin)
    return result.exit_code, result.stdout, result.stderr
