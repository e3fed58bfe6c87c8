"""`python -m tagwire`: the command line, for an environment whose scripts are not on PATH.

The runtime imports nothing of the command line, which needs more than the
standard library, so its package is run by name.
"""

import runpy

if __name__ == "__main__":
    runpy.run_module("tagwire_cli", run_name="__main__")
