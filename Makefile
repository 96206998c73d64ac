# Two commands matter: `make demo` shows the project at work, `make test` checks it.
# Each makes its own virtual environment and installs what it needs.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo test lint format bench clean compiler

demo: $(VENV)/.installed compiler
	@$(BIN)/python examples/demo.py

test: $(VENV)/.installed-test compiler
	@$(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/.installed-lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.installed-lint
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.installed compiler
	@$(BIN)/python -m benchmarks $(if $(ONLY),--only $(ONLY))

compiler: $(VENV)/.installed
	@$(BIN)/python -m transpile doctor --require-compiler

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "transpile needs Python 3.11 or newer; name one with: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	    { echo "Python's venv module is missing; install it (Debian: apt-get install python3-venv)"; exit 1; }

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	@echo "installing transpile into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@

$(VENV)/.installed-lint: $(VENV)/.installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[lint]'
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .coverage
	find cache -mindepth 1 ! -name README.md -delete
