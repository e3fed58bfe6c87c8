"""The entry point of the `tagwire` command."""

import gc
import io
import os
import sys
from contextlib import suppress

_EXTRAS = {
    "black": "generate",
    "jinja2": "generate",
    "jsonschema": "generate",
    "lsprotocol": "lsp",
    "pygls": "lsp",
    "textual": "browse",
    "yaml": "mock",
}
_COLLECTION_THRESHOLD = 50_000
"""The number of new objects that starts a garbage collection. Imports create fewer, and hardly any garbage."""
_CLOSED_PIPE = 141
"""The exit status that shells report for a program ended by SIGPIPE: 128 plus the signal's number."""


def main() -> None:
    """Run `tagwire`. Exits with 0 (success), 1 (findings or bad data), 2 (usage error) or 141 (closed pipe).

    Ctrl-C exits with 1, as in click, even while modules are being imported.
    """
    gc.set_threshold(_COLLECTION_THRESHOLD)
    try:
        _run()
    except KeyboardInterrupt:
        sys.stderr.write("\nAborted!\n")
        sys.exit(1)
    finally:
        gc.freeze()  # otherwise, Python would search all objects for garbage before it exits
        _discard_unwritten_output()


def _run() -> None:
    if sys.argv[1:] in (["--version"], ["-V"]):  # loading click would double the run time
        from tagwire import __version__

        with suppress(AttributeError, OSError):  # if that fails, click prints the version again and reports the error
            sys.stdout.write(f"tagwire, version {__version__}\n")
            sys.stdout.flush()
            return
    from tagwire.errors import MissingExtraError
    from tagwire_cli.app import app
    from tagwire_cli.output.echo import say_error

    _prepare_output()
    stdout = sys.stdout
    try:
        app(prog_name="tagwire")
    except SystemExit:
        if sys.stdout is not stdout:  # click replaces stdout if its reader closes the pipe
            sys.exit(_CLOSED_PIPE)
        raise
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in _EXTRAS:
            raise
        say_error(str(MissingExtraError(library, _EXTRAS[library])))
        sys.exit(2)


def _prepare_output() -> None:
    """Make standard output escape characters that it can't encode, such as in a path that is not UTF-8.

    With PYTHONUNBUFFERED, also add a buffer. Otherwise, a write that a full disk cuts short would not be an error.
    """
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper) and isinstance(out.buffer, io.RawIOBase):
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(out.buffer), out.encoding, out.errors, line_buffering=True)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _discard_unwritten_output() -> None:
    """Discard output that can't be written, such as on a full disk. The command has already reported the error.

    Otherwise, Python would try to write it at exit, print another error, and exit with status 120.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            try:
                stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    main()
