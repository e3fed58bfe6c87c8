#!/usr/bin/env bash
# Test the native engine under AddressSanitizer and UndefinedBehaviorSanitizer; needs gcc. test_native_memory.py finds leaks.
. "$(dirname "$0")/environment.sh"
folder=build/sanitize
watch=-fsanitize=address,undefined
rm -rf $folder
TAGWIRE_BUILD=require CC=gcc CFLAGS="-O1 -g -fno-omit-frame-pointer -fno-sanitize-recover $watch" LDFLAGS=$watch \
    $bin/python -m pip install --quiet --no-deps --no-build-isolation --target $folder .
set -x
# Of the tests that run with each engine, skip the runs with the pure engine.
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
    PYTHONMALLOC=malloc PYTHONPATH=$folder TAGWIRE_ENGINE=native TAGWIRE_TEST_EVERY=4 \
    $bin/python $pytest -p no:cacheprovider -k 'not ([python or -python])' \
    tests/runtime/message/test_engines.py tests/runtime/native/test_lazy_structs.py tests/test_native_memory.py \
    tests/runtime/native/test_native_layouts.py tests/test_engines_agree.py tests/runtime/interpreter/test_error_positions.py \
    tests/runtime/message/test_objects.py tests/runtime/message/test_constructors.py tests/runtime/message/test_json_text.py \
    tests/runtime/explain/test_trace.py \
    tests/test_golden_bytes.py tests/test_golden_drafts.py \
    tests/runtime/arrow tests/runtime/records \
    tests/runtime/log/test_dump.py tests/runtime/log/test_column_stream.py tests/runtime/log/test_column_errors.py
