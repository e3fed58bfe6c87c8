#!/usr/bin/env bash
# Run a script of bench/ (run.py [--quick] or compare.py BASE [HEAD]) in an environment with all compared libraries.
. "$(dirname "$0")/environment.sh"
environment .venv-bench "${PYTHON:-python3}" --requirement bench/requirements.txt --editable .
exec .venv-bench/bin/python "bench/$1" "${@:2}"
