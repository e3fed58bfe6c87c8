#!/usr/bin/env bash
# Build build/site: the documents, a page per message, a playground. Needs npm, which fetches Python for browsers.
. "$(dirname "$0")/environment.sh"
PIP_CONSTRAINT='' environment build/site-env "${PYTHON:-python3}" -r site/requirements.txt
npm=build/site-npm
if [ ! -e $npm/.installed ] || [ site/package-lock.json -nt $npm/.installed ]; then
    mkdir -p $npm && cp site/package.json site/package-lock.json $npm
    npm ci --prefix $npm --ignore-scripts --no-audit --no-fund --loglevel error
    touch $npm/.installed
fi
PYTHONPATH=site:tests/support $bin/python -m tagwire_site "$PWD/build/site-env/bin/zensical" "$PWD/$npm/node_modules"
