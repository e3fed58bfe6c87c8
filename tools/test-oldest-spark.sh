#!/usr/bin/env bash
# Run the main Spark tests with the oldest PySpark and pyarrow that tagwire supports.
. "$(dirname "$0")/environment.sh"
pins='pyspark==4.2.0 pyarrow==18.0.0'
folder=$PWD/build/oldest-spark # first on PYTHONPATH, before .venv
if ! command -v java >/dev/null; then exit; fi # without Java, the tests would be skipped: save the download of half a gigabyte
if [ ! -e "$folder/.installed" ] || [ pyproject.toml -nt "$folder/.installed" ]; then
    rm -rf "$folder"
    PIP_CONSTRAINT='' $bin/python -m pip install --quiet --no-compile --no-deps --target "$folder" $pins
    touch "$folder/.installed"
fi
export PYTHONPATH=$folder
set -x
$bin/python -c "import pyspark; assert f'pyspark=={pyspark.__version__}' in '$pins'"
$bin/python $pytest -m "$quick" tests/spark/columns tests/spark/log_write tests/spark/log_read/test_query.py \
    tests/spark/test_{log_source,rpc_exchanges,rpc_source,s3,shipped_packages}.py
