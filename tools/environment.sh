# The scripts in this folder, which `make` runs, source this file. It changes to the repository root, and makes the
# scripts stop at errors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PIP_DISABLE_PIP_VERSION_CHECK=1
# Pin versions in every environment. In isolated build environments, pip reads PIP_BUILD_CONSTRAINT since version 25.3,
# and PIP_CONSTRAINT before.
export PIP_CONSTRAINT="$PWD/constraints.txt" PIP_BUILD_CONSTRAINT="$PWD/constraints.txt"
export JDK_JAVA_OPTIONS+=' -XX:TieredStopAtLevel=1 -XX:+UseSerialGC' # Java starts faster, but long programs run slower
unset PYTHONDONTWRITEBYTECODE # otherwise thousands of processes would recompile their imports
bin=.venv/bin
quick='not (thorough or slow or package)'
# Keep the tests of a file in one process: they share a wheel or a package. tests/conftest.py starts slow files first.
pytest='-m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder'
# Tests without Spark often wait, so they run in one process more than there are processors.
workers="-n $(($(getconf _NPROCESSORS_ONLN) + 1))"

# Tests that encode and decode. They are run a second time with the pure engine.
golden_tests=$(ls tests/test_golden_*.py)' tests/test_captures.py tests/test_hostile_bytes.py tests/test_kafka_cases.py'
engine_tests=$(ls -d tests/runtime/* | grep -Ev '/(arrow|log|native|__pycache__)$')' tests/workbench/fuzzing tests/workbench/proxy
    tests/generator/test_generated_corners.py tests/test_import_cost.py'

# Print the first Python 3.13 that runs (a pyenv shim may not), unless .venv has that version already.
second_python() {
    if "$bin/python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))'; then return; fi
    local python
    for python in python3.13 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.13.*/bin/python3.13; do
        if "$python" -c 'import ensurepip, sys; sys.exit(sys.version_info[:2] != (3, 13))' >/dev/null 2>&1; then
            echo "$python"
            return
        fi
    done
}

# environment FOLDER PYTHON ARGUMENTS: create a virtual environment in the folder, and pass the arguments to
# `pip install`. Do nothing if the environment is newer than the files it depends on.
environment() {
    local folder=$1 python=$2
    shift 2
    local sources='pyproject.toml constraints.txt hatch_build.py bench/requirements.txt site/requirements.txt runtime/tagwire/_native'
    # shellcheck disable=SC2086 # a list of paths
    if [ -e "$folder/.installed" ] && [ -z "$(find $sources -type f -newer "$folder/.installed")" ]; then return; fi
    "$python" -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet --no-compile "$@"
    touch "$folder/.installed"
}
