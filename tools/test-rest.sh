#!/usr/bin/env bash
# Run the tests that `make test` leaves out, and most tests again on Python 3.13 if there is one.
# The pure engine's own tests run on 3.13 if possible, otherwise on .venv's version, because both would take too long.
. "$(dirname "$0")/environment.sh"
# With an archive of its classes, Spark starts in half the time. Java writes it when it ends; the pipe waits for that.
mkdir -p build
JDK_JAVA_OPTIONS+=" -XX:ArchiveClassesAtExit=$PWD/build/spark.jsa" PYTHONPATH=tests/support $bin/python -c '
from spark_session import missing, session
missing() or session().range(1).collect()' 2>&1 | cat >build/spark-archive.log
JDK_JAVA_OPTIONS+=" -XX:SharedArchiveFile=$PWD/build/spark.jsa -Xlog:disable" # no warning if the archive is missing
set -x
$bin/python $pytest -m "not ($quick)"
tools/test-oldest-spark.sh
# The oldest click and google-crc32c that pyproject.toml allows. An import of google-crc32c warns if its C code is missing.
oldest=$PWD/build/oldest # first on PYTHONPATH, before .venv
rm -rf "$oldest"
# shellcheck disable=SC2046 # a list of requirements
PIP_CONSTRAINT='' $bin/python -m pip install --quiet --no-compile --no-deps --target "$oldest" \
    $(grep -oE '"(click|google-crc32c)>=[0-9.]+' pyproject.toml | sed 's/"//; s/>=/==/')
PYTHONPATH=$oldest $bin/python -W error -c 'import google_crc32c'
PYTHONPATH=$oldest $bin/python $pytest -m "$quick" tests/cli/test_{app,command_table,consistency}.py tests/cli/arguments
second=$(second_python)
if [ -z "$second" ]; then
    TAGWIRE_ENGINE=python $bin/python $pytest $workers -m "$quick" $engine_tests
    exit
fi
environment .venv-3.13 "$second" --editable '.[test]'
second=.venv-3.13/bin/python
env ${REQUIRE_NATIVE:+TAGWIRE_ENGINE=native} $second -c 'import tagwire; print("engine:", tagwire.engine())'
TAGWIRE_ENGINE=python $second $pytest $workers -m "$quick" $engine_tests $golden_tests
$second $pytest -m 'thorough and not slow' tests/runtime
$second $pytest $workers -m "$quick"
