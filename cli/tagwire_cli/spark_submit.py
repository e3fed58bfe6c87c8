"""A script for spark-submit that runs `tagwire spark` with its arguments. `tagwire spark --script` prints its path."""

import sys

from tagwire_cli.app import app

__all__: list[str] = []

if __name__ == "__main__":
    app(["spark", *sys.argv[1:]], prog_name="tagwire")
