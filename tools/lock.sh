#!/usr/bin/env bash
# Pin exact versions again, for every Python and system in one file, without any index address.
. "$(dirname "$0")/environment.sh"
"${PYTHON:-python3}" -m venv build/uv
PIP_CONSTRAINT='' build/uv/bin/python -m pip install --quiet uv
build/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --extra dev --no-header --no-annotate --upgrade \
    pyproject.toml build-constraints.in --output-file constraints.txt
