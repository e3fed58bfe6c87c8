#!/usr/bin/env bash
# Run the tests of the one module that `git diff` lists, which cosmic-ray has changed. See mutate.sh.
. "$(dirname "$0")/environment.sh"
export PYTHONDONTWRITEBYTECODE=1 # a mutant must not leave bytecode behind

# Run pytest on PATHS for at most SECONDS. If there are no tests, the mutant survives.
try() { timeout "$1" $bin/python -m pytest -x -q -p no:cacheprovider -p no:xdist -m "$2" "${@:3}" || [ $? = 5 ]; }

module=$(git diff --name-only -- runtime generator cli pipeline)
area=tests/${module%%/*} && area=${area/pipeline/spark}
if [ "${MUTANT_TESTS:-}" = wide ]; then
    try 900 'not (slow or package)' "$area"
    exit
fi
name=${module#*/} && name=${name%.py} && stem=${name##*/} package=${name%/*}
folder=$area && case $package in */*) folder=$area/${package#*/} ;; esac
package=${package//\//.}
near=$(ls "$folder/test_$stem.py" 2>/dev/null || true
    grep -lrE "$package\.$stem\b|from $package import .*\b$stem\b" tests --include='test_*.py' | sort | head -5 || true)
# shellcheck disable=SC2086 # a list of paths
if [ "$near" ]; then
    try 120 "$quick" $near
    if [ "$area" = tests/runtime ]; then TAGWIRE_ENGINE=python try 120 "$quick" $near; fi
fi
if [ "$folder" != tests/runtime ] && [ -d "$folder" ]; then try 400 "$quick" "$folder"; fi
