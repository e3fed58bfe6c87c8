"""Run `tagwire spark` with this script's arguments. For spark-submit, `tagwire spark --script` prints its path."""

import sys

from tagwire_cli.app import app

__all__: list[str] = []

if __name__ == "__main__":
    app(["spark", *sys.argv[1:]], prog_name="tagwire")
