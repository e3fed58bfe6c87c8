# Needs python3 (3.11 or later, with venv) and make; everything else is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
DEMO_STAMP := .venv/.demo
NEEDS_PYTHON := import sys; sys.version_info >= (3, 11) or sys.exit("tagwire needs Python 3.11 or later: make PYTHON=...")

# With a compiler and Python's headers, the native engine must compile and load: an error must not leave only the pure one.
NATIVE_SOURCES := $(wildcard runtime/tagwire/_native/*/*)
CAN_COMPILE = $(shell command -v cc >/dev/null && $(PYTHON) -c 'import pathlib, sysconfig; \
    print("yes" if pathlib.Path(sysconfig.get_path("include"), "Python.h").exists() else "")' 2>/dev/null)
export TAGWIRE_BUILD ?= $(if $(CAN_COMPILE),require,auto)
export REQUIRE_NATIVE = $(filter require,$(TAGWIRE_BUILD))

# Sets pip's options and what pytest runs; the scripts in tools/ begin with it too.
ENVIRONMENT := . tools/environment.sh
SHELL := bash

.DEFAULT_GOAL := help
.PHONY: help install demo demo-generate test test-rest test-all test-oldest-spark quick check check-source check-style check-mypy check-pyright check-generated check-workflows check-wheel fix generate sanitize fuzz archive bench bench-compare dist lock site test-site test-broker clean

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12
	@echo 'CONTRIBUTING.md lists the other targets.'

install: $(STAMP) ## make .venv with everything that the tests need, and tagwire in editable mode

$(STAMP): pyproject.toml constraints.txt hatch_build.py $(NATIVE_SOURCES)
	@$(PYTHON) -c '$(NEEDS_PYTHON)'
	$(PYTHON) -m venv .venv
	@echo 'Installing everything that the tests need, and compiling the native engine: some minutes...'
	$(ENVIRONMENT) && $(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	@$(if $(REQUIRE_NATIVE),TAGWIRE_ENGINE=native) $(BIN)/python -c 'import tagwire; print("engine:", tagwire.engine())'
	@touch $@ $(DEMO_STAMP)

# The first minute of a new user: what every command needs, with the pure engine, unless everything is installed already.
$(DEMO_STAMP):
	@$(PYTHON) -c '$(NEEDS_PYTHON)'
	$(PYTHON) -m venv .venv
	@echo 'Installing tagwire with its command line...'
	$(ENVIRONMENT) && TAGWIRE_BUILD=skip $(BIN)/python -m pip install --quiet --no-compile --editable '.[all]'
	@touch $@

demo: $(DEMO_STAMP) ## decode captured traffic of 43 clients, and encode it to the same bytes
	$(BIN)/tagwire demo tests/data/captures/captures.jsonl.gz
	@echo '(in .venv/bin; `make demo-generate` makes the classes again and proves that they are up to date)'

demo-generate: $(STAMP)
	$(BIN)/tagwire generate --no-cache --exit-non-zero-on-change

# The closing line of pytest must be the last one of `make test-all`.
test: $(STAMP) ## run the suite in five minutes, with both engines; `make test-all` leaves nothing out
	$(ENVIRONMENT) && $(BIN)/python $$pytest $$workers -m "$$quick"
	$(ENVIRONMENT) && TAGWIRE_ENGINE=python $(BIN)/python $$pytest $$workers -m "$$quick" $$golden_tests
	@echo 'Left out: tests that are thorough, slow, or build packages, and Python 3.13. Run them with `make test-all`.'

test-rest test-oldest-spark: $(STAMP)
	tools/$@.sh

test-all: test test-rest ## run the whole suite: about 45 minutes on two cores

AREA_TESTS = $(filter-out tests/data/%,$(wildcard tests/$(AREA) tests/*/$(AREA) $(foreach folder,tests tests/* tests/*/* tests/*/*/*,$(folder)/test_$(AREA).py)))
quick: $(STAMP) ## run the tests of one area: AREA=records, cli/commands, or decode for each test_decode.py
	@test -n "$(AREA)" -a -n "$(AREA_TESTS)" || \
	    { echo 'which area? make quick AREA=records, cli/commands, or any other folder or module name of tests/'; exit 2; }
	$(ENVIRONMENT) && $(BIN)/python $$pytest -m 'not slow and not package' $(AREA_TESTS)

check: check-source check-wheel ## run everything that CI runs besides the tests; writes nothing but caches and build/

# Each takes one processor: `make --jobs` runs several at once.
check-source: check-style check-mypy check-pyright check-generated check-workflows

check-style: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/black --check .
	$(BIN)/lint-imports

check-mypy: $(STAMP)
	$(BIN)/mypy

check-pyright: $(STAMP)
	$(BIN)/pyright --pythonpath $(BIN)/python

check-generated: $(STAMP)
	$(BIN)/tagwire generate --check --no-cache --formatter black

fix: $(STAMP) ## format, and fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/black --quiet .

generate: $(STAMP) ## write generated/ from message_specs/ and templates/
	$(BIN)/tagwire generate

check-wheel check-workflows sanitize fuzz archive dist site test-broker: $(STAMP)
	tools/$@.sh

# FUZZ_SECONDS sets the time of `make fuzz`; BENCH=--quick only shows that the benchmark works.
export FUZZ_SECONDS ?= 60
bench:
	tools/bench.sh run.py $(BENCH)

bench-compare:
	@test -n "$(BASE)" || { echo 'which commit? make bench-compare BASE=main [HEAD=commit]'; exit 2; }
	tools/bench.sh compare.py $(BASE) $(HEAD)

lock:
	tools/lock.sh

test-site: site
	$(BIN)/python -m pytest -m browser tests/site

clean:
	rm -rf .venv .venv-3.13 .venv-bench build dist .tagwire_cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -f runtime/tagwire/_*.so runtime/tagwire/_*.pyd
	find . -name __pycache__ -prune -exec rm -rf {} +
