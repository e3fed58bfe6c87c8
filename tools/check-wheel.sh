#!/usr/bin/env bash
# Build and install the wheel. Check its top-level modules, the types that mypy and pyright find in it, and its engines.
. "$(dirname "$0")/environment.sh"
wheel=build/check
installed=$PWD/$wheel/venv/bin/python
set -x
rm -rf $wheel
$bin/python -m build --wheel --no-isolation --outdir $wheel .
$bin/check-wheel-contents $wheel
$bin/python -m venv --without-pip $wheel/venv
$bin/python -m pip --python "$installed" install --quiet --no-index --no-deps $wheel/*.whl
cp -R tests/typing $wheel/typing
(cd $wheel/typing && ../../../$bin/mypy --strict --config-file= --python-executable "$installed" .)
(cd $wheel/typing && ../../../$bin/pyright --pythonpath "$installed" --project .)
if [ -n "${REQUIRE_NATIVE:-}" ]; then
    TAGWIRE_ENGINE=native "$installed" -c 'import tagwire._columns; print("engine:", tagwire.engine())'
fi
site=$("$installed" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
TAGWIRE_ENGINE=python PYTHONPATH=$site $bin/python -m pytest -q -p no:cacheprovider tests/test_golden_bytes.py
if [ "$("$installed" -c 'import tagwire; print(tagwire.engine())')" = native ]; then
    TAGWIRE_ENGINE=native PYTHONPATH=$site $bin/python -m pytest -q -p no:cacheprovider \
        tests/test_golden_bytes.py tests/runtime/arrow/test_golden_columns.py
fi
