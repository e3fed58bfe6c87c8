"""Run the command line as `python -m tagwire`, for environments without the `tagwire` script on PATH.

The command line needs third-party libraries, so the runtime must not import it. This module runs it by name.
"""

import runpy

if __name__ == "__main__":
    runpy.run_module("tagwire_cli", run_name="__main__")
