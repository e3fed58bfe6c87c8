# Needs python3 (3.11 or later, with venv) and make; everything else comes into .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
DEMO_STAMP := .venv/.demo
NEEDS_PYTHON := import sys; sys.version_info >= (3, 11) or sys.exit("tagwire needs Python 3.11 or later: make PYTHON=...")

# A second interpreter for the suite: the first that really runs (a pyenv shim may not) and is not .venv's own.
SECOND = $(shell for python in python3.13 $${PYENV_ROOT:-$$HOME/.pyenv}/versions/3.13.*/bin/python3.13; do \
    "$$python" -c 'import ensurepip, sys; sys.exit(sys.version_info[:2] != (3, 13))' >/dev/null 2>&1 && echo "$$python" && break; done)
SECOND_BIN := .venv-3.13/bin
SECOND_STAMP := .venv-3.13/.installed

# The oldest Spark that pyproject.toml allows, in front of the one in .venv: an import finds it first.
OLDEST_SPARK := build/oldest-spark
OLDEST_SPARK_PINS := pyspark==4.2.0 pyarrow==18.0.0
OLDEST_SPARK_TESTS := tests/spark/columns tests/spark/log_write tests/spark/rpc tests/spark/sources

# What the native engine is made of. Where a compiler is, it must compile: a mistake must not end as a pure engine.
ENGINE := $(wildcard runtime/tagwire/_native/*/*)
CAN_COMPILE = $(shell command -v cc >/dev/null && $(PYTHON) -c 'import pathlib, sysconfig; \
    print("yes" if pathlib.Path(sysconfig.get_path("include"), "Python.h").exists() else "")' 2>/dev/null)
export TAGWIRE_BUILD ?= $(if $(CAN_COMPILE),require,auto)
REQUIRED = $(if $(filter require,$(TAGWIRE_BUILD)),TAGWIRE_ENGINE=native) # one that compiles may still fail to load
WHICH_ENGINE := -c 'import tagwire; print("engine:", tagwire.engine())'

# What encodes and decodes, and so runs once more with the pure engine.
GOLDEN_TESTS := $(wildcard tests/test_golden_*.py) tests/test_captures.py tests/test_hostile_bytes.py tests/test_kafka_cases.py
ENGINE_TESTS := $(filter-out %/arrow %/log %/native %/__pycache__,$(wildcard tests/runtime/*)) \
    tests/workbench/fuzzing tests/workbench/proxy \
    tests/generator/test_generated_corners.py tests/test_import_cost.py $(GOLDEN_TESTS)

# A file's tests stay together: what they share (a wheel, a generated package) is made once. Long ones first: tests/conftest.py.
PYTEST := -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# Where `make check` builds and installs the wheel; git does not see it.
WHEEL := build/check
INSTALLED := $(CURDIR)/$(WHEEL)/venv/bin/python

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Images forbid caches of bytecode: each of some thousand processes would then compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
# The pins hold in every environment: the first for ours, the others for the isolated ones of builds (pip before 25.3, and since).
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_BUILD_CONSTRAINT := $(CURDIR)/constraints.txt

.DEFAULT_GOAL := help
.PHONY: help install demo demo-generate test test-rest test-all test-oldest-spark quick check check-source check-style check-mypy check-pyright check-generated check-workflows check-wheel sanitize fuzz fix generate archive bench bench-compare lock dist site test-site clean

help: ## print the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

install: $(STAMP) ## make .venv with everything in it, tagwire itself in editable mode

# Again whenever the pins, the metadata or the build hook change; otherwise nothing is run.
$(STAMP): pyproject.toml constraints.txt hatch_build.py $(ENGINE)
	@$(PYTHON) -c '$(NEEDS_PYTHON)'
	$(PYTHON) -m venv .venv
	@echo 'Installing everything that the tests need, and compiling the native engine: some minutes...'
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	@$(REQUIRED) $(BIN)/python $(WHICH_ENGINE)
	@touch $@ $(DEMO_STAMP)

$(SECOND_STAMP): pyproject.toml constraints.txt hatch_build.py $(ENGINE)
	$(SECOND) -m venv .venv-3.13
	$(SECOND_BIN)/python -m pip install --quiet --no-compile --editable '.[test]'
	@$(REQUIRED) $(SECOND_BIN)/python $(WHICH_ENGINE)
	@touch $@

$(OLDEST_SPARK)/.installed: pyproject.toml
	rm -rf $(OLDEST_SPARK)
	PIP_CONSTRAINT= $(BIN)/python -m pip install --quiet --no-compile --no-deps --target $(OLDEST_SPARK) $(OLDEST_SPARK_PINS)
	@touch $@

# The first minute of a new user: what every command needs, with the pure engine, unless all of it is installed already.
$(DEMO_STAMP):
	@$(PYTHON) -c '$(NEEDS_PYTHON)'
	$(PYTHON) -m venv .venv
	@echo 'Installing tagwire with its command line...'
	TAGWIRE_BUILD=skip $(BIN)/python -m pip install --quiet --no-compile --editable '.[all]'
	@touch $@

demo: $(DEMO_STAMP) ## decode the traffic of 43 real clients, and encode it to the same bytes
	$(BIN)/tagwire demo tests/data/captures/captures.jsonl.gz
	@echo '(in .venv/bin; `make demo-generate` makes the classes again and proves that they are up to date)'

demo-generate: $(STAMP) ## generate all classes from the specs, and prove that nothing changed
	$(BIN)/tagwire generate --no-cache --exit-non-zero-on-change

# Five minutes on two cores: the project's own interpreter, and what encodes and decodes once more with the pure engine.
# What takes longer is marked thorough, slow or package (pyproject.toml), and `make test-rest` runs it.
QUICK := not (thorough or slow or package)
test: $(STAMP) ## run the suite in five minutes, with both engines; `make test-all` leaves nothing out
	$(BIN)/python $(PYTEST) -m '$(QUICK)'
	TAGWIRE_ENGINE=python $(BIN)/python $(PYTEST) -m '$(QUICK)' $(GOLDEN_TESTS)
	@echo 'Left out: tests that are thorough, slow, or build packages, and Python 3.13. Run them with `make test-all`.'

# Another Python runs what depends on it: all of `make test`, the pure engine, and of the thorough tests the runtime's.
# The last command of either branch is pytest: its closing line is the last one printed.
test-rest: $(STAMP) ## run what `make test` leaves out, on Python 3.13 too where there is one
	$(BIN)/python $(PYTEST) -m 'not ($(QUICK))'
	$(MAKE) --no-print-directory test-oldest-spark
	TAGWIRE_ENGINE=python $(BIN)/python $(PYTEST) -m '$(QUICK)' $(filter-out $(GOLDEN_TESTS),$(ENGINE_TESTS))
	@second='$(SECOND)'; \
	if [ -z "$$second" ] || $(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))'; then exit 0; fi; \
	$(MAKE) --no-print-directory $(SECOND_STAMP) && set -x && \
	TAGWIRE_ENGINE=python $(SECOND_BIN)/python $(PYTEST) -m '$(QUICK)' $(ENGINE_TESTS) && \
	$(SECOND_BIN)/python $(PYTEST) -m 'thorough and not slow' tests/runtime && \
	$(SECOND_BIN)/python $(PYTEST) -m '$(QUICK)'

# Without Java these tests skip, and half a gigabyte need not be fetched.
test-oldest-spark: $(STAMP) ## run the main tests of the Spark part with the oldest PySpark and pyarrow that it supports
	@if command -v java >/dev/null; then set -x; $(MAKE) --no-print-directory $(OLDEST_SPARK)/.installed && \
	PYTHONPATH=$(OLDEST_SPARK) $(BIN)/python -c 'import pyspark; assert f"pyspark=={pyspark.__version__}" in "$(OLDEST_SPARK_PINS)"' && \
	PYTHONPATH="$(CURDIR)/$(OLDEST_SPARK)" $(BIN)/python $(PYTEST) -m '$(QUICK)' $(OLDEST_SPARK_TESTS); fi

test-all: test test-rest ## run the whole suite: some 25 minutes on two cores

AREA_TESTS = $(filter-out tests/data/%,$(wildcard tests/$(AREA) tests/*/$(AREA) $(foreach folder,tests tests/* tests/*/* tests/*/*/*,$(folder)/test_$(AREA).py)))
quick: $(STAMP) ## run the tests of one area: AREA=records, cli/commands, or decode for each test_decode.py
	@test -n "$(AREA)" -a -n "$(AREA_TESTS)" || \
	    { echo 'which area? make quick AREA=records, cli/commands, or any other folder or module name of tests/'; exit 2; }
	$(BIN)/python $(PYTEST) -m 'not slow and not package' $(AREA_TESTS)

check: check-source check-wheel ## everything that CI runs beside the tests; writes nothing but caches and build/

# Each takes one processor: `make --jobs` has several go at once.
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

# zizmor finds unsafe workflows, actionlint wrong ones; the latter is written in Go, and is fetched where Go is.
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
check-workflows: $(STAMP)
	$(BIN)/zizmor --offline --quiet .github/workflows
	@mkdir -p build; limit=$$(command -v timeout >/dev/null && echo timeout 180); \
	if test -x build/bin/actionlint || GOBIN=$(CURDIR)/build/bin $$limit go install $(ACTIONLINT) >build/actionlint.log 2>&1; then \
	    set -x && build/bin/actionlint; else echo 'actionlint did not run: it needs Go, and access to its modules'; fi

# What a user of the wheel meets: its top level, the types that mypy and pyright see in it, and its engines.
check-wheel: $(STAMP)
	rm -rf $(WHEEL)
	$(BIN)/python -m build --wheel --no-isolation --outdir $(WHEEL) .
	$(BIN)/check-wheel-contents $(WHEEL)
	$(BIN)/python -m venv --without-pip $(WHEEL)/venv
	$(BIN)/python -m pip --python $(INSTALLED) install --quiet --no-index --no-deps $(WHEEL)/*.whl
	cp -R tests/typing $(WHEEL)/typing
	cd $(WHEEL)/typing && $(CURDIR)/$(BIN)/mypy --strict --config-file= --python-executable $(INSTALLED) .
	cd $(WHEEL)/typing && $(CURDIR)/$(BIN)/pyright --pythonpath $(INSTALLED) --project .
	$(if $(REQUIRED),$(REQUIRED) $(INSTALLED) -c 'import tagwire._columns; print("engine:", tagwire.engine())')
	set -e; site=$$($(INSTALLED) -c 'import sysconfig; print(sysconfig.get_path("platlib"))'); \
	for engine in python $$($(INSTALLED) -c 'import tagwire; print(tagwire.engine())' | grep -v python); do \
	    columns=$$(test $$engine = python || echo tests/runtime/arrow/test_golden_columns.py); \
	    TAGWIRE_ENGINE=$$engine PYTHONPATH=$$site $(BIN)/python -m pytest -q -p no:cacheprovider tests/test_golden_bytes.py $$columns; \
	done

fix: $(STAMP) ## format, and mend what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/black --quiet .

# The engine with a watch on every access to memory and every overflow; what leaks, test_native_memory.py finds.
# Tests that run once with each engine have nothing to watch in the pure one.
SANITIZE := build/sanitize
WATCH := -fsanitize=address,undefined
SANITIZE_TESTS := tests/runtime/message/test_engines.py tests/runtime/native/test_lazy_structs.py tests/test_native_memory.py \
    tests/runtime/native/test_native_layouts.py tests/test_engines_agree.py tests/runtime/interpreter/test_fault_places.py \
    tests/runtime/message/test_objects.py tests/runtime/message/test_json_text.py tests/runtime/explain/test_trace.py \
    tests/test_golden_bytes.py tests/test_golden_drafts.py \
    tests/runtime/arrow tests/runtime/records tests/runtime/interpreter/test_record_layouts.py \
    tests/runtime/log/test_dump_lines.py tests/runtime/log/test_columns.py tests/runtime/log/test_column_faults.py tests/runtime/log/test_column_messages.py \
    tests/runtime/log/test_moving.py
sanitize: $(STAMP) ## test the native engine under AddressSanitizer and UndefinedBehaviorSanitizer; needs gcc
	rm -rf $(SANITIZE)
	TAGWIRE_BUILD=require CC=gcc CFLAGS='-O1 -g -fno-omit-frame-pointer -fno-sanitize-recover $(WATCH)' LDFLAGS='$(WATCH)' \
	    $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --target $(SANITIZE) .
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
	    PYTHONMALLOC=malloc PYTHONPATH=$(SANITIZE) TAGWIRE_ENGINE=native TAGWIRE_TEST_EVERY=4 \
	    $(BIN)/python $(PYTEST) -p no:cacheprovider -k 'not ([python or -python])' $(SANITIZE_TESTS)

# Native code can't be watched branch by branch without clang; the interpreter can, and has the same branches.
# Atheris stands beside .venv: it is nothing that we develop with, and what it fuzzes is compiled there already.
FUZZ_SECONDS ?= 60
ATHERIS := build/atheris
$(ATHERIS)/.installed: $(STAMP)
	rm -rf $(ATHERIS) && mkdir -p $(ATHERIS)
	$(BIN)/python -m pip install --quiet --no-compile --only-binary :all: --target $(ATHERIS) atheris==3.0.0 || \
	    echo 'there is no atheris for this Python and system'
	@touch $@

fuzz: $(ATHERIS)/.installed ## fuzz the native engine against the interpreter for FUZZ_SECONDS, where atheris is to be had
	@export PYTHONPATH=$(ATHERIS):tests/support:tests; \
	$(BIN)/python -c 'import atheris' 2>/dev/null || { echo 'not fuzzed: no atheris for this Python'; exit 0; } && set -x && \
	$(BIN)/python tests/support/fuzz_engines.py -max_total_time=$(FUZZ_SECONDS) -max_len=400 -artifact_prefix=build/ build/corpus

generate: $(STAMP) ## write generated/ from message_specs/ and templates/
	$(BIN)/tagwire generate

# The site has an environment of its own, and takes Python for browsers from npm.
SITE_ENV := build/site-env
SITE_NPM := build/site-npm
$(SITE_ENV)/.installed: site/requirements.txt
	$(PYTHON) -m venv $(SITE_ENV)
	PIP_CONSTRAINT= $(SITE_ENV)/bin/python -m pip install --quiet --no-compile -r site/requirements.txt
	@touch $@

$(SITE_NPM)/.installed: site/package.json site/package-lock.json
	@mkdir -p $(SITE_NPM) && cp site/package.json site/package-lock.json $(SITE_NPM)
	npm ci --prefix $(SITE_NPM) --ignore-scripts --no-audit --no-fund --loglevel error
	@touch $@

site: $(STAMP) $(SITE_ENV)/.installed $(SITE_NPM)/.installed ## make build/site: documents, a page for each message, a playground; needs npm
	PYTHONPATH=site:tests/support $(BIN)/python -m tagwire_site $(CURDIR)/$(SITE_ENV)/bin/zensical $(CURDIR)/$(SITE_NPM)/node_modules

test-site: site ## drive build/site in a headless Chromium; needs Debian's chromium and chromium-driver
	$(BIN)/python -m pytest -m browser tests/site

# Some minutes the first time: Maven is started for each jar that is not there yet. Afterwards `git diff` shows nothing.
JARS := build/jars
DEPENDENCY := org.apache.maven.plugins:maven-dependency-plugin:3.6.1
archive: $(STAMP) ## fetch the jars of Kafka's releases with Maven, and write message_specs/kafka from them
	@mkdir -p $(JARS)
	@while IFS=: read -r artifact release; do \
	    test -f "$(JARS)/$$artifact-$$release.jar" || mvn --quiet --batch-mode $(DEPENDENCY):copy \
	        -Dartifact="org.apache.kafka:$$artifact:$$release" -DoutputDirectory="$(CURDIR)/$(JARS)" </dev/null || exit 1; \
	done <message_specs/releases.txt
	$(BIN)/tagwire import $$(sed 's|\(.*\):\(.*\)|$(JARS)/\1-\2.jar|' message_specs/releases.txt) --output message_specs/kafka

# The peers get environments of their own: they are nothing that we develop with. BENCH=--quick only shows that it works.
BENCH ?= --write
BENCH_NEEDS := pyproject.toml constraints.txt hatch_build.py bench/requirements.txt $(ENGINE)
INSTALL_BENCH = -m pip install --quiet --no-compile --requirement bench/requirements.txt --editable '.[arrow,generate]'
.venv-bench/.installed: $(BENCH_NEEDS)
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python $(INSTALL_BENCH)
	@touch $@

.venv-bench-3.13/.installed: $(BENCH_NEEDS)
	$(SECOND) -m venv .venv-bench-3.13
	.venv-bench-3.13/bin/python $(INSTALL_BENCH)
	@touch $@

bench: .venv-bench/.installed ## measure beside the peers, also on Python 3.13 where there is one, and write docs/benchmarks.md
	.venv-bench/bin/python bench/run.py $(BENCH)
	@second='$(SECOND)'; \
	if [ -z "$$second" ] || .venv-bench/bin/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))'; then exit 0; fi; \
	$(MAKE) --no-print-directory .venv-bench-3.13/.installed && set -x && .venv-bench-3.13/bin/python bench/run.py $(BENCH)

bench-compare: .venv-bench/.installed ## measure the commit BASE beside the commit HEAD, or beside the working tree
	@test -n "$(BASE)" || { echo 'which commit? make bench-compare BASE=main [HEAD=commit]'; exit 2; }
	.venv-bench/bin/python bench/compare.py $(BASE) $(HEAD)

# On Linux auditwheel finds the oldest system that the wheel runs on, and renames it; an index takes no other wheels.
dist: $(STAMP) ## build the wheel and the sdist that users get
	rm -rf dist build/dist
	$(BIN)/python -m build --outdir build/dist
	mkdir dist && mv build/dist/*.tar.gz dist
	if ls build/dist/*-linux_*.whl >/dev/null 2>&1; then \
	    PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/dist/*.whl; \
	else mv build/dist/*.whl dist; fi
	$(BIN)/check-wheel-contents dist

lock: ## pin exact versions again, for every Python and system in one file, without any index address
	$(PYTHON) -m venv build/uv
	PIP_CONSTRAINT= build/uv/bin/python -m pip install --quiet uv
	build/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --extra dev --no-header --no-annotate --upgrade \
	    pyproject.toml build-constraints.in --output-file constraints.txt

clean: ## remove everything that git does not keep
	rm -rf .venv .venv-3.13 .venv-bench .venv-bench-3.13 build dist .tagwire_cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -f runtime/tagwire/_*.so runtime/tagwire/_*.pyd
	find . -name __pycache__ -prune -exec rm -rf {} +
