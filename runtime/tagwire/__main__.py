"""Run the command line as `python -m tagwire`, for environments in which the `tagwire` script is not on PATH.

The command line depends on third-party libraries, so the runtime must not import it. This module runs it by its package
name instead.
"""

import runpy

if __name__ == "__main__":
    runpy.run_module("tagwire_cli", run_name="__main__")
