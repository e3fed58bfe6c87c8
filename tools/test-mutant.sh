#!/usr/bin/env bash
# Run the tests of the one module that `git diff` lists, which cosmic-ray has changed. See mutate.sh.
. "$(dirname "$0")/environment.sh"
export PYTHONDONTWRITEBYTECODE=1 # a mutant must not leave bytecode behind

# Run pytest on PATHS for at most SECONDS. If there are no tests, the mutant survives.
try() { timeout "$1" $bin/python -m pytest -x -q -p no:cacheprovider -p no:xdist -m "$marks" "${@:2}" || [ $? = 5 ]; }

module=$(git diff --name-only -- runtime generator cli pipeline)
area=tests/${module%%/*} && area=${area/pipeline/spark}
marks='not (slow or package)'
if [ "${MUTANT_TESTS:-}" = wide ]; then
    try 900 "$area"
    exit
fi
if [ "$area" != tests/spark ]; then marks=$quick; fi # almost all tests that start Spark are thorough
name=${module#*/} && name=${name%.py} && stem=${name##*/} package=${name%/*}
folder=$area && case $package in */*) folder=$area/${package#*/} ;; esac
package=${package//\//.}
near=$(ls "$folder/test_$stem.py" 2>/dev/null || true
    grep -lrE "$package\.$stem\b|from $package import .*\b$stem\b" tests --include='test_*.py' | sort | head -5 || true)
# shellcheck disable=SC2086 # a list of paths
if [ "$near" ]; then
    try 300 $near
    if [ "$area" = tests/runtime ]; then TAGWIRE_ENGINE=python try 300 $near; fi
elif [ "$area" = tests/cli ]; then # the tests of commands test it
    folder=tests/cli
fi
if [ "$folder" != tests/runtime ] && [ -d "$folder" ]; then try 390 "$folder"; fi
