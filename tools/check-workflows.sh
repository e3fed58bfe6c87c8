#!/usr/bin/env bash
# Check the GitHub workflows: zizmor finds unsafe workflows, and actionlint, which needs Go, finds invalid ones.
. "$(dirname "$0")/environment.sh"
$bin/zizmor --offline --quiet .github/workflows
mkdir -p build
limit=$(command -v timeout >/dev/null && echo timeout 180 || true)
if [ -x build/bin/actionlint ] ||
    GOBIN=$PWD/build/bin $limit go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 >build/actionlint.log 2>&1; then
    build/bin/actionlint
else
    echo 'actionlint did not run: it needs Go, and access to its modules'
fi
