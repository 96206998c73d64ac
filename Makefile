# Two commands matter: `make demo` shows the project at work, `make test` checks it; `make check` has
# a short look at each part. Each makes its own virtual environment and installs what it needs.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := -m pip install -qq --disable-pip-version-check
PEERS  ?= 1

.PHONY: demo examples test check fuzz sanitize soak lint format bench clean compiler

demo: compiler
	@$(BIN)/python examples/demo.py

# Networks, gradients, a Hessian, and loops with gradients at work, a few seconds each.
examples: $(VENV)/.installed-examples compiler
	@for name in digits per_example_gradients newton fit_an_ode hamiltonian_monte_carlo; do \
	    echo "--- examples/$$name.py"; $(BIN)/python examples/$$name.py || exit 1; echo; done

test: $(VENV)/.installed-test compiler
	@$(BIN)/python -m pytest --numprocesses auto --dist worksteal $(ARGS)

# For every commit: the shape of the code, and quick tests of each part of it. Nothing long that is
# drawn, or that a compiler works at for long.
CHECKED := project/test_layers project/test_jax_support project/test_numpy_support util ir pytree \
    trace/test_trace trace/test_guard_survey trace/test_captured_arrays \
    primitives/test_rules_elementwise primitives/test_primitives_indexing \
    primitives/test_control_flow primitives/test_control_flow_errors \
    numpy/test_numpy_indexing numpy/test_numpy_shapes numpy/test_numpy_reductions \
    numpy/test_numpy_elementwise functional/test_differentiate functional/test_standard_basis \
    functional/test_lost_derivatives lax/test_lax_branches lax/test_lax_arrays \
    nn/test_nn_attention random/test_random_distributions scipy/test_scipy_stats \
    $(filter-out passes/test_half_precision,$(patsubst tests/%.py,%,$(wildcard tests/passes/*.py))) \
    analysis/test_cost_model fusion lower/test_lower schedule/test_blocked_reductions \
    schedule/test_bool_reductions schedule/test_coalesce schedule/test_column_reductions \
    schedule/test_dead_scalars schedule/test_delinearize schedule/test_donation \
    schedule/test_index_set_split schedule/test_licm schedule/test_linearize \
    schedule/test_local_cse schedule/test_memory_plan schedule/test_scalar_replacement \
    schedule/test_tile schedule/test_triangular_split schedule/test_vectorize \
    codegen/test_golden codegen/test_dialect codegen/test_c_expr codegen/test_render \
    symbols/test_identifiers symbols/test_c_helpers runtime_c/test_runtime_transpose \
    build/test_elf disk_cache/test_cache_entry runtime/test_loader runtime/test_memory_overlap \
    stages/test_stages dispatch/test_config public/test_errors public/test_ops

check: $(VENV)/.installed-test compiler
	@$(BIN)/python -m pytest -q --numprocesses auto --dist worksteal \
	    $(foreach part,$(CHECKED),$(firstword $(wildcard tests/$(part).py tests/$(part)) no-tests/$(part))) $(ARGS)

# Not in continuous integration. COUNT programs under the address and undefined-behaviour sanitizers;
# the pool of threads and the calls in C under the thread sanitizer.
sanitize: $(VENV)/.installed-test compiler
	@PYTHONPATH=$(CURDIR)/tests/support $(BIN)/python tests/sanitize.py $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))
	@PYTHONPATH=$(CURDIR)/tests/support $(BIN)/python tests/sanitize_threads.py $(if $(SECONDS),--seconds $(SECONDS))

# Not in continuous integration: processes, threads and faults for SECONDS, 600 if not given.
soak: $(VENV)/.installed-test compiler
	@PYTHONPATH=$(CURDIR)/tests/support $(BIN)/python tests/soak.py $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED))

# Not in continuous integration, which has 300: COUNT drawn NumPy programs, beginning with SEED. What
# does not give NumPy's results becomes a file of FOLDER, made small.
fuzz: $(VENV)/.installed-test compiler
	@cd tests && PYTHONPATH=..:support ../$(BIN)/python -m fuzz_numpy --count $(or $(COUNT),10000) \
	    --seed $(or $(SEED),1000) --folder $(abspath $(or $(FOLDER),fuzz_findings))

lint: $(VENV)/.installed-lint
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

format: $(VENV)/.installed-lint
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

# ONLY=softmax measures one workload, ONLY=overhead one section. Numba, JAX and PyTorch are installed
# in an environment of their own, to compare with; PEERS= does without them.
bench: compiler $(VENV)/.installed-bench $(if $(PEERS),.venv-bench/.installed)
	@$(BIN)/python -m benchmarks $(addprefix --only ,$(ONLY)) \
	    $(if $(PEERS),,--without-peers) $(ARGS)

# Quiet, or one sentence that says what to install.
compiler: $(VENV)/.installed
	@$(BIN)/python -m transpile doctor --require-compiler

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "transpile needs Python 3.11 or newer; name one with: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	    { echo "Python's venv module is missing; install it (Debian: apt-get install python3-venv)"; exit 1; }

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	@echo "installing transpile into $(VENV)"
	@$(BIN)/python $(PIP) -e .
	@touch $@

$(VENV)/.installed-examples: $(VENV)/.installed
	@echo "installing the examples' packages into $(VENV)"
	@$(BIN)/python $(PIP) -e '.[examples]'
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	@echo "installing the tests' packages into $(VENV)"
	@$(BIN)/python $(PIP) -e '.[test]'
	@touch $@

$(VENV)/.installed-lint: $(VENV)/.installed
	@echo "installing the linters into $(VENV)"
	@$(BIN)/python $(PIP) -e '.[lint]'
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	@echo "installing what draws the benchmarks' chart into $(VENV)"
	@$(BIN)/python $(PIP) -e '.[bench]'
	@touch $@

.venv-bench/.installed:
	@echo "installing Numba, JAX and PyTorch into .venv-bench"
	@$(PYTHON) -m venv .venv-bench
	@.venv-bench/bin/python $(PIP) numba scipy jax torch==2.13.0
	@touch $@

clean:
	@rm -rf $(VENV) .venv-bench build dist benchmarks/results .coverage
	@rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find transpile tests benchmarks examples docs -name __pycache__ -prune -exec rm -rf {} +
	@rm -rf cache
