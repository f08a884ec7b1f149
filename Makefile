# Verbs for people: `make demo` and `make test` do all the set-up they need.

VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# Passed through to the command behind demo, test and bench: make demo ARGS="--seconds 20"
ARGS   ?=
# The interpreter that makes the environment; empty means the first of the usual names that is 3.11+.
PYTHON ?=

# A file's tests stay in one process, and the quick files come first. Most tests keep one core busy.
PYTEST := $(BIN)/python -m pytest
SPREAD := --numprocesses 2 --dist loadfile --no-loadscope-reorder

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Where it is set, every process of the tests compiles all sources and rewrites all asserts anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Two steps may call apt-get, which cannot run twice at once.
.NOTPARALLEL:
.PHONY: help setup java demo test unit figures soak check docs bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo '  demo, test, unit, figures, soak and bench take ARGS="..."; setup takes PYTHON=path/to/python'

# Editable, so only a change of pyproject.toml asks for another install.
$(STAMP): pyproject.toml
	@PYTHON="$(PYTHON)" bash scripts/ensure-venv.sh $(VENV)
	@echo 'Installing Headrace and its pinned dependencies (several hundred MB the first time)'
	@$(BIN)/python -m pip install --quiet --editable '.[test,dev]'
	@touch $@

setup: $(STAMP) ## make .venv and install the package with its pinned dependencies

java:
	@bash scripts/ensure-java.sh

demo: $(STAMP) java ## run the live demo: queries that come and go over the gaming streams
	$(BIN)/headrace demo $(ARGS)

test: $(STAMP) java ## run the tests: what holds on any machine, however busy
	$(PYTEST) $(SPREAD) $(ARGS)

unit: $(STAMP) ## run the tests that need no JVM
	$(PYTEST) $(SPREAD) tests/unit $(ARGS)

figures: $(STAMP) java ## test what is a figure: on an idle machine, nothing else beside it
	SPARK_SUBMIT_OPTS= SPARK_LAUNCHER_OPTS= $(PYTEST) tests/figures $(ARGS)

soak: $(STAMP) java ## run the long tests: storms of kills, all seeds, the whole battery (hours)
	HEADRACE_SOAK=1 $(PYTEST) --timeout 7200 tests/soak tests/unit tests/simulator \
		tests/oracle tests/battery tests/spark $(ARGS)

check: $(STAMP) ## lint, format, types, import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

docs: $(STAMP) ## write docs/api.md from the docstrings
	$(BIN)/python scripts/api_reference.py

bench: $(STAMP) java ## measure against plain Spark; records, a page, tables of docs/results.md
	$(BIN)/headrace bench suite short --readme docs/results.md $(ARGS)

clean: ## remove caches and scratch files (keeps .venv and benchmarks/results)
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis \
		.coverage htmlcov spark-warehouse metastore_db derby.log artifacts benchmarks/scratch
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -exec rm -rf {} +
