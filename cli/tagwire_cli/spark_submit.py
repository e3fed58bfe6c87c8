"""What spark-submit runs: `tagwire spark` with the arguments behind it. `tagwire spark --script` says where it is."""

import sys

from tagwire_cli.app import app

__all__: list[str] = []

if __name__ == "__main__":
    app(["spark", *sys.argv[1:]], prog_name="tagwire")
