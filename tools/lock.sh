#!/usr/bin/env bash
# Update the exact versions in constraints.txt, which apply to every Python and system. The file contains no index URLs.
. "$(dirname "$0")/environment.sh"
"${PYTHON:-python3}" -m venv build/uv
PIP_CONSTRAINT='' build/uv/bin/python -m pip install --quiet uv
build/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --extra dev --no-header --no-annotate --upgrade \
    pyproject.toml build-constraints.in --output-file constraints.txt
