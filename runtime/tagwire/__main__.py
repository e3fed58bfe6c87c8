"""Run the command line as `python -m tagwire`, for environments without the `tagwire` script on PATH.

`runpy` runs `tagwire_cli` by name, because the runtime must not import `tagwire_cli`.
"""

import runpy

if __name__ == "__main__":
    runpy.run_module("tagwire_cli", run_name="__main__")
