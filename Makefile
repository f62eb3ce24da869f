# Every target sets up what it needs. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SERVICES := $(VENV)/.services
# Workers for the test suite: two more than cores, for tests of services wait a good deal; the quick
# tests do not. tests/sharing_out.py says which test runs where.
CORES := $(shell $(PYTHON) -c 'import os; print(os.cpu_count() or 1)')
WORKERS ?= $(shell expr $(CORES) + 2)
PYTEST := $(BIN)/python -m pytest -n $(WORKERS)
# What `make check` is made of: independent of one another, so that one may wait while another works.
LONG_CHECKS := check-types check-examples check-wheel check-lock
CHECKS := check-code $(LONG_CHECKS)
# Programs that tests start would compile the package anew each time, if this were set.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup services demo reproduce compare test tests test-fast prove audit check $(CHECKS) check-installs format bench bench-large bench-growth docs clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP)  ## build .venv with the package and the developer tools (no root rights needed)

$(STAMP): pyproject.toml
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[plot]' --group dev
	@touch $@

services: $(SERVICES)  ## install what the real engines and the page's tests need: clients, PostgreSQL, Java, Chromium, axe

$(SERVICES): $(STAMP) tools/services.sh
	tools/services.sh
	$(BIN)/python -m pip install --quiet --group services
	@touch $@

demo: setup  ## generate a salary table, ask for its median at three budgets, save the picture
	$(BIN)/postri demo --out build

RUNS ?= 100
DATA ?= $(if $(POSTRI_DATA),$(POSTRI_DATA),$(wildcard ../shared/data))

reproduce: setup  ## run the paper's experiments with every method (RUNS=100, DATA=folder), report into build/reproduction
	$(BIN)/postri reproduce --runs $(RUNS) $(if $(DATA),--data $(DATA)) --out build/reproduction

compare: setup  ## beside other libraries, in environments that it builds: error, coverage, odd inputs, time (ONLY=adult-median; all takes about an hour), page into build/compare
	PYTHONPATH=. $(BIN)/python -m compare.run $(if $(ONLY),--only $(ONLY)) $(if $(filter command line,$(origin RUNS)),--runs $(RUNS))

test: services check-code  ## the checks, and all tests at a size that fits
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target tests $(LONG_CHECKS)

# Tests of services wait a good deal: meanwhile one check after the other runs. The plus sign leaves
# the progress of the tests visible while it is made.
tests:
	+$(PYTEST) --durations=10

test-fast: setup  ## the quick tests, in under a minute
	$(BIN)/python -m pytest -n $(CORES) -m 'not slow'

prove: services  ## all that has two sizes, at full size: privacy, coverage, the reproduction, load, kills
	POSTRI_PROVE=1 $(BIN)/python -m pytest -m 'prove and alone' --durations=10
	POSTRI_PROVE=1 $(PYTEST) -m 'prove and not alone' --durations=20

audit: setup  ## attack the installation at full size, report into build/audit.md; takes more than an hour
	@mkdir -p build
	$(BIN)/postri audit --minutes 60 --self-test --out build/audit.md

check: setup  ## format, lint, types, import contract, documentation examples, the wheel, the lock file
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target $(CHECKS)

check-code:
	$(BIN)/ruff format --no-cache --check .
	$(BIN)/ruff check --no-cache .
	$(BIN)/lint-imports

check-types:
	$(BIN)/mypy

check-examples:
	$(BIN)/python -m pytest -q --doctest-modules --doctest-glob='*.md' src/postri README.md docs

check-wheel:
	$(BIN)/python tools/check_wheel.py

check-lock:
	$(BIN)/python tools/lock_service.py --check

check-installs: services  ## install the wheel with each extra, on the oldest and newest Python and versions, and ask each; takes minutes
	$(BIN)/python tools/check_installs.py

format: setup  ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: services  ## speed and memory, as ratios of one run, into build/bench.json (ONLY="draws arrays": some parts)
	$(BIN)/python bench/run.py $(ONLY)

bench-large: services  ## 1e9 rows in DuckDB and, as Parquet, in Spark beside a plain sum, into build/bench-large.json; takes a while and 12 GB of disk
	$(BIN)/python bench/large.py

bench-growth: services  ## how times grow from 1e5 to 1e9 rows, beside other libraries, drawn into docs/images/growth.svg; takes a while and 12 GB of disk
	PYTHONPATH=. $(BIN)/python bench/growth.py

docs: setup  ## build the documentation into build/docs
	$(BIN)/python tools/docs/build_site.py --out build/docs

clean:  ## remove what was built
	rm -rf build dist $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
