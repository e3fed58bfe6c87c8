#!/usr/bin/env bash
# Build the release wheel and sdist in dist/. On Linux, auditwheel tags the wheel with the oldest supported system.
. "$(dirname "$0")/environment.sh"
rm -rf dist build/dist
$bin/python -m build --outdir build/dist
mkdir dist && mv build/dist/*.tar.gz dist
if ls build/dist/*-linux_*.whl >/dev/null 2>&1; then
    PATH="$PWD/$bin:$PATH" $bin/auditwheel repair --wheel-dir dist build/dist/*.whl
else
    mv build/dist/*.whl dist
fi
$bin/check-wheel-contents dist
