#!/usr/bin/env bash
# Run cosmic-ray on a random sample of mutants: 5 from each of MODULES (60) modules, which are drawn by their lines.
# cosmic-ray changes modules in place and restores them, so run this in a clean checkout and leave it alone meanwhile.
#     tools/mutate.sh SEED    draw a sample, run the tests near each mutant, and list the survivors
#     tools/mutate.sh wide    run the survivors again with all tests of their part of the product
. "$(dirname "$0")/environment.sh"
folder=build/mutation && tool=$folder/environment/bin config=$folder/config.toml session=$folder/session.sqlite
git diff --quiet HEAD || { echo 'commit your changes first'; exit 2; }
mkdir -p $folder
environment $folder/environment $bin/python cosmic-ray==8.7.0

if [ "${1:?SEED or wide}" = wide ]; then
    export MUTANT_TESTS=wide
    $bin/python -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as session:
    session.execute("DELETE FROM work_results WHERE test_outcome = ?", ["SURVIVED"])' $session
else
    rm -f $session
    git ls-files runtime generator cli pipeline | grep '\.py$' | $bin/python -c 'import random, sys
from pathlib import Path
chance = random.Random(sys.argv[1])
lines = {path: Path(path).read_bytes().count(b"\n") for path in sys.stdin.read().split()}
order = sorted(lines, key=lambda path: -(chance.random() ** (1 / max(lines[path], 1))))
config = Path("tools/mutation.toml").read_text()
print(config.replace("[]", str(order[: int(sys.argv[2])]), 1))' "$1" "${MODULES:-60}" > $config
    $tool/cosmic-ray init $config $session
    $tool/cr-filter-operators $session $config
    $bin/python -c 'import random, sqlite3, sys
from itertools import groupby
with sqlite3.connect(sys.argv[2]) as session:
    rows = session.execute("SELECT module_path, job_id FROM mutation_specs WHERE job_id NOT IN (SELECT job_id FROM "
        "work_results) ORDER BY module_path, operator_name, operator_args, occurrence").fetchall()
    chance = random.Random(sys.argv[1])
    modules = [[job for _, job in group] for _, group in groupby(rows, lambda row: row[0])]
    kept = str([job for jobs in modules for job in chance.sample(jobs, min(5, len(jobs)))])[1:-1]
    for table in ("work_results", "mutation_specs", "work_items"):
        session.execute(f"DELETE FROM {table} WHERE job_id NOT IN ({kept})")' "$1" $session
fi
$tool/cosmic-ray exec $config $session
$tool/cr-report --surviving-only --show-diff $session
