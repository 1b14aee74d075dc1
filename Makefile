# `make demo` and `make test` are all a newcomer needs; each makes the virtual environment it wants.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO_LAKE ?= demo.lake
JOBS ?= auto
SEED ?= 1

.PHONY: help demo ready test check bench torture deep machine pythons truth fuzz mutate spark lock offline docs clean

help:  ## Show what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 8

# The first of the usual names that is Python 3.11 or newer.
$(VENV)/.made:
	@python=; for name in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 python; do \
	  if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$$name; break; fi; done; \
	if [ -z "$$python" ]; then echo "ettlog needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11" >&2; exit 1; fi; \
	$$python -m venv $(VENV) && $(BIN)/python -m pip install -q --disable-pip-version-check --upgrade pip && touch $@

$(VENV)/.installed: $(VENV)/.made setup.cfg pyproject.toml
	$(BIN)/pip install -q --disable-pip-version-check -e .
	@touch $@

# Every file that is installed has the hash that the lock names and is a wheel, but for pyspark-client, which has none; `make LOCK= test` takes the newest versions instead.
LOCK ?= requirements/test.txt

$(VENV)/.testing: $(VENV)/.made setup.cfg pyproject.toml requirements/test.txt
	@if [ -n "$(LOCK)" ]; then set -x; $(BIN)/pip install -q --disable-pip-version-check --only-binary :all: --no-binary pyspark-client --require-hashes -r "$(LOCK)" && \
	  $(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .; \
	else set -x; $(BIN)/pip install -q --disable-pip-version-check -e '.[test]'; fi
	@touch $@ $(VENV)/.installed

ready: $(VENV)/.testing  ## Install what the tests need

demo: $(VENV)/.installed  ## Install, read the example fleet's logs, show what ettlog answers, write report.html
	@rm -rf $(DEMO_LAKE)
	$(BIN)/ettlog ingest fixtures/fleet/logs --lake $(DEMO_LAKE)
	@echo
	$(BIN)/ettlog ett --lake $(DEMO_LAKE)
	@echo
	$(BIN)/ettlog ett --by model --lake $(DEMO_LAKE)
	@echo
	$(BIN)/ettlog attribute --window 6mo --lake $(DEMO_LAKE)
	@echo
	$(BIN)/ettlog report --window 6mo --lake $(DEMO_LAKE) -o report.html
	@echo "next: open report.html; or ask yourself: $(BIN)/ettlog jobs --lake $(DEMO_LAKE)"

test: check  ## Install what the tests need, and run everything: lint, types, all tests
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --randomly-seed=$(SEED) tests

check: $(VENV)/.testing  ## Lint and check types
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/.testing  ## Measure the speed of reading beside ripgrep, and keep the table in bench/RESULTS.md
	$(BIN)/pip install -q --disable-pip-version-check -e '.[bench]'
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m bench --keep

torture: $(VENV)/.testing  ## Injure ettlog in every way its tests know, at full length, and write docs/torture.md; goes on where it stopped
	$(BIN)/python -m tests.torture --keep build/torture --write docs/torture.md

deep: $(VENV)/.testing  ## Try every property with new examples by the thousand (area Q1 of torture), and write docs/torture.md; hours
	$(BIN)/python -m tests.torture --only Q1 --keep build/torture --write docs/torture.md

LAKE_SEQUENCES ?= 10000

machine: $(VENV)/.testing  ## Drive a lake and its logs through LAKE_SEQUENCES random sequences of actions; hours
	LAKE_SEQUENCES=$(LAKE_SEQUENCES) $(BIN)/python -m pytest -n 0 -q --timeout 0 tests/test_lake_machine.py

TRUTH_SEEDS ?= 20

truth: $(VENV)/.testing  ## Write TRUTH_SEEDS simulated fleets of 200 jobs as logs, whole and injured, and hold what is found in them against the truth
	$(BIN)/python -m tests.simulating --seeds $(TRUTH_SEEDS) --ranks 3

lock: $(VENV)/.made  ## Lock all requirements with hashes anew, and write the bill of materials
	$(BIN)/pip install -q --disable-pip-version-check uv
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --all-extras --no-annotate --no-header \
	  setup.cfg -o requirements/all.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  -c requirements/all.txt setup.cfg -o requirements/ettlog.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --extra test \
	  -c requirements/all.txt setup.cfg -o requirements/test.txt
	$(BIN)/python -m tests.sbom

offline: check  ## Run all tests in a network namespace that has loopback only (Linux)
	unshare --map-root-user --net sh -c 'ip link set lo up; exec "$$@"' sh \
	  $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --randomly-seed=$(SEED) tests

PYTHONS ?= python3.12 python3.13 python3.14

pythons: $(VENV)/.testing  ## Read the same logs with each other Python of PYTHONS that there is: every file must be the same
	@named=; for name in $(PYTHONS); do \
	  if ! $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo "$$name: not here"; continue; fi; \
	  made="$(CURDIR)/build/$${name##*/}"; \
	  [ -x "$$made/bin/python" ] || $$name -m venv "$$made" || exit 1; \
	  "$$made/bin/python" -m pip install -q --disable-pip-version-check --only-binary :all: --require-hashes -r requirements/ettlog.txt || exit 1; \
	  named="$$named$${named:+:}$$made/bin/python"; \
	done; \
	[ -n "$$named" ] && ETTLOG_PYTHONS="$$named" $(BIN)/python -m tests.torture --only D2

FUZZ_SECONDS ?= 45
FUZZ_FLAGS ?=

fuzz: $(VENV)/.testing  ## Feed eight parsers with inputs made by Atheris, FUZZ_SECONDS each
	@mkdir -p build && sed -n '/^atheris/,/[^\\]$$/p' requirements/all.txt > build/fuzz.txt
	-$(BIN)/pip install -q --disable-pip-version-check --only-binary :all: --no-deps --require-hashes -r build/fuzz.txt
	$(BIN)/python -m fuzz --seconds $(FUZZ_SECONDS) $(FUZZ_FLAGS)

mutate: $(VENV)/.testing  ## Change operators and constants one by one and see whether the narrow tests notice; hours
	$(BIN)/python -m tests.mutate

# Beside the virtual environment: the client in it is a `pyspark` too.
build/pyspark/.made: $(VENV)/.testing
	@mkdir -p build && sed -n '/^\(pyspark\|py4j\)==/,/[^\]$$/p' requirements/all.txt > build/spark.txt
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation --require-hashes --upgrade --target build/pyspark -r build/spark.txt
	@touch $@

spark: build/pyspark/.made  ## Install Spark with its Java part in build/pyspark, and compare two executors with DuckDB
	$(BIN)/python -m pytest -n 0 tests/test_engine_spark.py

docs: $(VENV)/.testing  ## Write all pages that are made from the code anew, and build the site in build/site
	$(BIN)/python -m tests.cli_reference > docs/cli.md
	$(BIN)/python -m tests.relations_reference > docs/relations.md
	$(BIN)/python -m tests.vocabulary_reference > docs/vocabulary.md
	$(BIN)/python -m tests.formats_reference > docs/formats_reference.md
	$(BIN)/python -m tests.metrics_reference
	$(BIN)/python -m tests.notebooks
	$(BIN)/python -m tests.docs_code
	$(BIN)/python -m tests.test_exports_page
	$(BIN)/python -m tests.tutorial
	$(BIN)/python -m tests.readme
	$(BIN)/python -m tests.screenshots
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/site

clean:  ## Remove the virtual environment and the demo's lake
	rm -rf $(VENV) $(DEMO_LAKE) report.html build dist *.egg-info
