"""Run the command line as `python -m tagwire`, for environments without the `tagwire` script on PATH.

No module of the runtime may import `tagwire_cli`, which needs third-party libraries, so `runpy` runs it by its name.
"""

import runpy

if __name__ == "__main__":
    runpy.run_module("tagwire_cli", run_name="__main__")
