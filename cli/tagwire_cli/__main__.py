"""The entry point: the script exists in every installation, so it must explain a missing extra."""

import io
import sys

__all__ = ["main"]

_EXTRAS = {
    "black": "generate",
    "jinja2": "generate",
    "jsonschema": "generate",
    "lark": "generate",
    "lsprotocol": "lsp",
    "pygls": "lsp",
    "rich": "cli",
    "textual": "browse",
    "yaml": "mock",
}


def main() -> None:
    """Run `tagwire`; exits with 0 (fine), 1 (findings or bad data) or 2 (usage)."""
    _escape_what_has_no_code()
    try:
        from tagwire_cli.app import app

        app(prog_name="tagwire")
    except ModuleNotFoundError as error:
        if error.name == "click":
            from tagwire_cli.without_extras import run

            sys.exit(run(sys.argv[1:]))
        library = (error.name or "").partition(".")[0]
        extra = _EXTRAS.get(library)
        if extra is None:
            raise
        sys.stderr.write(f"tagwire: {library} is missing; install it with: pip install 'tagwire[{extra}]'\n")
        sys.exit(2)


def _escape_what_has_no_code() -> None:
    """Tables and other text show as an escape what standard output's encoding lacks, such as a path's odd bytes."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    main()
