#!/usr/bin/env bash
# Fuzz the native engine against the interpreter for FUZZ_SECONDS (60), if atheris has a wheel for this Python and system.
# The fuzzer is guided by coverage of the interpreter, which has the same branches as the native engine. To measure
# coverage of native code, clang would be needed.
. "$(dirname "$0")/environment.sh"
atheris=build/atheris # nothing else needs it, so it is not in .venv
if [ ! -e $atheris/.installed ]; then
    rm -rf $atheris && mkdir -p $atheris
    $bin/python -m pip install --quiet --no-compile --only-binary :all: --target $atheris atheris==3.0.0 ||
        echo 'there is no atheris for this Python and system'
    touch $atheris/.installed
fi
export PYTHONPATH=$atheris:tests/support:tests
$bin/python -c 'import atheris' 2>/dev/null || { echo 'not fuzzed: no atheris for this Python'; exit 0; }
set -x
$bin/python tools/fuzz_engines.py -max_total_time="${FUZZ_SECONDS:-60}" -max_len=400 -artifact_prefix=build/ build/corpus
