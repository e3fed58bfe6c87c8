"""Run the command line as `python -m tagwire`, for environments whose scripts are not on PATH.

The command line needs more than the standard library, so the runtime must not
import it. This module runs its package by name.
"""

import runpy

if __name__ == "__main__":
    runpy.run_module("tagwire_cli", run_name="__main__")
