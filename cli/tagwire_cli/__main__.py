"""The entry point: the script exists in every installation, so it must explain a missing extra."""

import sys

__all__ = ["main"]

_EXTRAS = {
    "black": "generate",
    "click": "cli",
    "jinja2": "generate",
    "jsonschema": "generate",
    "lark": "generate",
    "rich": "cli",
}


def main() -> None:
    """Run `tagwire`; exits with 0 (fine), 1 (findings or bad data) or 2 (usage)."""
    try:
        from tagwire_cli.app import app

        app(prog_name="tagwire")
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        sys.stderr.write(f"tagwire: {error.name} is missing; bring it with: pip install 'tagwire[{extra}]'\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
