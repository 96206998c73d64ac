# Two commands matter: `make demo` shows the project at work, `make test` checks it; `make check` has
# a short look at each part. Each makes its own virtual environment and installs what it needs.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Python compiles what it imports; to compile all of SciPy at once would take ten seconds more.
PIP    := -m pip install -qq --disable-pip-version-check --no-compile
PEERS  ?= 1
# What is compared with; without the last it takes a tenth of the time: PEER_PACKAGES="numba scipy jax".
PEER_PACKAGES ?= numba scipy jax torch==2.13.0
# Else each of the suite's thousand processes would compile every module it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: screenshots demo examples test thorough check fuzz sanitize soak compat xla mpi cuda notebook machines machines-table machines-packages docs lint format bench cliffs clean compiler

demo: compiler
	@$(BIN)/python examples/demo.py

# Networks, gradients, a Hessian, loops with gradients, and two devices at work, a few seconds each.
examples: $(VENV)/.installed-examples compiler
	@for name in digits per_example_gradients newton fit_an_ode hamiltonian_monte_carlo jax_model \
	    data_parallel heat; do \
	    echo "--- examples/$$name.py"; $(BIN)/python examples/$$name.py || exit 1; echo; done

test: $(VENV)/.installed-developer compiler
	@$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m "not sanitized" \
	    --ignore tests/machines $(ARGS)

# Not in continuous integration: what repeats a way through the code, too, with all dtypes, all drawn
# examples and all programs compiled as users' are. A few times as long as `make test`.
thorough: $(VENV)/.installed-developer compiler
	@TRANSPILE_TEST_THOROUGH=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal \
	    -m "not sanitized" --ignore tests/machines $(ARGS)

# For every commit: the shape of the code, and quick tests of each part of it. Nothing long that is
# drawn, or that a compiler works at for long.
CHECKED := project/test_layers.py project/test_docstrings.py project/test_facts_in_primitives.py \
    project/test_c_in_templates.py project/test_jax_support.py project/test_numpy_support.py \
    project/test_scipy_support.py util ir intrinsics pytree trace/test_trace.py \
    trace/guards/test_guard_survey.py trace/test_captured_arrays.py primitives/test_rules_elementwise.py \
    primitives/test_primitives_indexing.py primitives/test_facts.py \
    primitives/test_control_flow.py primitives/test_control_flow_errors.py \
    numpy/test_numpy_indexing.py numpy/test_numpy_shapes.py numpy/test_numpy_reductions.py \
    numpy/test_numpy_elementwise.py functional/test_differentiate.py \
    functional/test_standard_basis.py functional/test_lost_derivatives.py lax/test_lax_branches.py \
    lax/test_lax_arrays.py nn/test_nn_attention.py random/test_random_distributions.py \
    scipy/test_scipy_stats.py analysis/test_cost_model.py analysis/test_canonical_form.py fusion \
    passes lower/test_lower.py lower/test_assign_storage.py lower/test_builder.py \
    lower/test_lower_control_flow.py lower/test_library_calls.py lower/test_flow.py \
    schedule/lanes/test_blocked_reductions.py schedule/lanes/test_bool_reductions.py \
    schedule/domain/test_coalesce.py schedule/lanes/outer/test_column_reductions.py \
    schedule/cleanup/test_dead_scalars.py schedule/domain/test_delinearize.py \
    schedule/test_donation.py schedule/domain/test_index_set_split.py \
    schedule/cleanup/test_licm.py schedule/domain/test_linearize.py \
    schedule/cleanup/test_local_cse.py schedule/test_memory_plan.py \
    schedule/cleanup/test_scalar_replacement.py schedule/blocking/test_tile.py \
    schedule/domain/test_triangular_split.py schedule/test_vectorize.py codegen/test_golden.py \
    codegen/test_definitions.py codegen/test_dialect.py codegen/test_c_expr.py \
    codegen/plan/test_summary.py codegen/test_render.py symbols/test_identifiers.py \
    symbols/test_c_helpers.py runtime_c/test_runtime_transpose.py build/test_elf.py \
    disk_cache/test_cache_entry.py disk_cache/test_concurrent_steps.py runtime/test_loader.py \
    runtime/memory/test_memory_overlap.py stages/test_stages.py stages/test_build_info.py \
    dispatch/test_config.py public/test_errors.py public/test_ops.py

check: $(VENV)/.installed-developer compiler
	@$(BIN)/python -m pytest -q --numprocesses auto --dist worksteal \
	    $(CHECKED:%=tests/%) --ignore tests/passes/test_half_precision.py $(ARGS)

# Not in continuous integration. All primitives for all dtypes, and COUNT programs, under the address
# and undefined-behaviour sanitizers; the pool of threads and the calls in C under the thread sanitizer.
sanitize: $(VENV)/.installed-developer compiler
	@TRANSPILE_TEST_THOROUGH=1 $(BIN)/python -m pytest -q -m sanitized
	@PYTHONPATH=$(CURDIR)/tests/support $(BIN)/python tests/fuzz_graphs.py --sanitize $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))
	@PYTHONPATH=$(CURDIR)/tests/support $(BIN)/python tests/sanitize_threads.py $(if $(SECONDS),--seconds $(SECONDS))

# Not in continuous integration: processes, threads and faults for SECONDS, 600 if not given.
soak: $(VENV)/.installed-developer compiler
	@PYTHONPATH=$(CURDIR)/tests/support $(BIN)/python tests/soak.py $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED))

# Not in continuous integration, which has some: COUNT drawn NumPy programs, beginning with SEED. What
# does not give NumPy's results becomes a file of FOLDER, made small. Then as many of them over runtime
# sizes, each for several, and as many drawn graphs,
# at every level of optimization, and functions of Python's statements, against Python.
fuzz: $(VENV)/.installed-developer compiler
	@cd tests && PYTHONPATH=..:support ../$(BIN)/python -m fuzz_numpy --count $(or $(COUNT),10000) \
	    --seed $(or $(SEED),1000) --folder $(abspath $(or $(FOLDER),fuzz_findings))
	@cd tests && PYTHONPATH=..:support ../$(BIN)/python -m fuzz_numpy --sizes --count $(or $(COUNT),10000) \
	    --seed $(or $(SEED),1000) --folder $(abspath $(or $(FOLDER),fuzz_findings))
	@PYTHONPATH=$(CURDIR)/tests/support $(BIN)/python tests/fuzz_graphs.py $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))
	@cd tests && PYTHONPATH=..:support ../$(BIN)/python -m fuzz_statements --count $(or $(COUNT),3000) \
	    --seed $(or $(SEED),1000) --folder $(abspath $(or $(FOLDER),fuzz_findings))

# Not in continuous integration: packages that are written for JAX, unchanged, with transpile in JAX's
# place; their results are compared with those that JAX gives them, in a process of its own. Both are
# in an environment of their own. ARGS chooses tests.
compat: compiler .venv-compat/.installed
	@.venv-compat/bin/python -m pytest -q tests/compat $(ARGS)

# Not in continuous integration: HLO, its messages and StableHLO as XLA reads and runs them, functions
# of JAX read back, and each file with a test that asks for JAX, and is skipped where there is none.
# ARGS chooses tests.
BESIDE_JAX = $(filter-out tests/hlo/% tests/hlo_import/% tests/compat/%, \
    $(shell grep -rl --include='test_*.py' 'importorskip..jax' tests | sort))
xla: compiler .venv-compat/.installed
	@.venv-compat/bin/python -m pytest -q -n 2 tests/hlo tests/hlo_import $(BESIDE_JAX) $(ARGS)

# Devices that are processes of an MPI program: tests and examples under `mpiexec`, in an environment
# with mpi4py and MPICH. ARGS chooses tests.
mpi: compiler .venv-mpi/.installed
	@.venv-mpi/bin/python -m pytest -q tests/parallel $(ARGS)

# CUDA text as nvcc compiles it, for two generations of GPUs, in an environment with nvcc; no GPU is
# needed. ARGS chooses tests.
cuda: compiler .venv-cuda/.installed
	@.venv-cuda/bin/python -m pytest -q tests/targets $(ARGS)

# A real notebook, run by Jupyter's kernel and made a page, in an environment of its own.
notebook: compiler .venv-notebook/.installed
	@.venv-notebook/bin/python -m pytest -q tests/notebook $(ARGS)

# Libraries for other machines, built by zig and by cross compilers, and run under emulators: the table
# of docs/other_machines.md, and tests, in an environment with zig and wasmtime. Compilers and emulators
# are Debian's: `make machines-packages` installs them. ARGS chooses tests.
machines: compiler .venv-machines/.installed
	@.venv-machines/bin/python -m pytest -q -rs tests/machines $(ARGS)
	@PYTHONPATH=$(CURDIR)/tests/support .venv-machines/bin/python -m benchmarks.machines

# The whole table of primitives on each of these machines and by each compiler, some minutes for one:
# ARGS="zig --dtypes f32 f64" chooses by parts of names.
machines-table: compiler .venv-machines/.installed
	@PYTHONPATH=$(CURDIR)/tests/support .venv-machines/bin/python -m benchmarks.machines_table $(ARGS)

# Needs the rights of root. gcc 13 and 14 are of a later Debian, and not installed: they lie in build/.
machines-packages:
	@apt-get install -y --no-install-recommends $$(grep -v '^#' tests/machines/debian_packages.txt)
	@tests/machines/debian_13.sh

# The documentation site, build/docs/html/index.html, by Sphinx in an environment of its own. A link
# that leads nowhere, and anything that a page would fetch from elsewhere, is an error.
docs: .venv-docs/.installed
	@PYTHONPATH=docs .venv-docs/bin/python -m website build/docs/source
	@.venv-docs/bin/python -m sphinx -q -W --keep-going -c docs/website build/docs/source build/docs/html
	@PYTHONPATH=docs .venv-docs/bin/python -m website.check build/docs/html

# Pictures of the site and of explore's page, docs/images, by Chromium; on an idle machine.
screenshots: docs
	@PYTHONPATH=docs:tests/support .venv-docs/bin/python -m website.screenshots build/docs/html

lint: $(VENV)/.installed-developer
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

format: $(VENV)/.installed-developer
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

# ONLY=softmax measures one workload, ONLY=overhead one section. Numba, JAX and PyTorch are installed
# in an environment of their own, to compare with; PEERS= does without them.
bench: compiler $(VENV)/.installed-bench $(if $(PEERS),.venv-bench/.installed)
	@$(BIN)/python -m benchmarks $(addprefix --only ,$(ONLY)) \
	    $(if $(PEERS),,--without-peers) $(ARGS)

# COUNT drawn NumPy programs, beginning with SEED, timed against NumPy, and against JAX where `make
# bench` has installed it, or ARGS="--python PATH" has it: those that are slower are shown.
cliffs: $(VENV)/.installed-developer compiler
	@PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m benchmarks.cliffs $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED)) $(ARGS)

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

# All that who changes the project needs, in one go: pip takes seconds to begin.
$(VENV)/.installed-developer: $(VENV)/bin/python pyproject.toml
	@echo "installing transpile, its tests' packages and the linters into $(VENV)"
	@$(BIN)/python $(PIP) -e '.[test,lint]'
	@touch $(VENV)/.installed $@

$(VENV)/.installed-bench: $(VENV)/.installed
	@echo "installing what draws the benchmarks' chart into $(VENV)"
	@$(BIN)/python $(PIP) -e '.[bench]'
	@touch $@

.venv-bench/.installed:
	@echo "installing $(PEER_PACKAGES) into .venv-bench"
	@$(PYTHON) -m venv .venv-bench
	@.venv-bench/bin/python $(PIP) $(PEER_PACKAGES)
	@touch $@

.venv-compat/.installed: pyproject.toml
	@echo "installing optax, jaxopt, blackjax, chex and JAX into .venv-compat"
	@$(PYTHON) -m venv .venv-compat
	@.venv-compat/bin/python $(PIP) -e '.[compat]'
	@touch $@

.venv-mpi/.installed: pyproject.toml
	@echo "installing mpi4py and MPICH into .venv-mpi"
	@$(PYTHON) -m venv .venv-mpi
	@.venv-mpi/bin/python $(PIP) -e '.[mpi,test]'
	@touch $@

.venv-cuda/.installed: pyproject.toml
	@echo "installing nvcc into .venv-cuda"
	@$(PYTHON) -m venv .venv-cuda
	@.venv-cuda/bin/python $(PIP) -e '.[cuda,test]'
	@touch $@

.venv-machines/.installed: pyproject.toml
	@echo "installing zig and wasmtime into .venv-machines"
	@$(PYTHON) -m venv .venv-machines
	@.venv-machines/bin/python $(PIP) -e '.[machines,test]'
	@touch $@

.venv-notebook/.installed: pyproject.toml
	@echo "installing nbclient, nbconvert and a kernel into .venv-notebook"
	@$(PYTHON) -m venv .venv-notebook
	@.venv-notebook/bin/python $(PIP) -e '.[notebook,test]'
	@touch $@

.venv-docs/.installed: pyproject.toml
	@echo "installing Sphinx, MyST and Furo into .venv-docs"
	@$(PYTHON) -m venv .venv-docs
	@.venv-docs/bin/python $(PIP) -e '.[docs]'
	@touch $@

clean:
	@rm -rf $(VENV) .venv-bench .venv-compat .venv-mpi .venv-cuda .venv-machines .venv-docs .venv-notebook build dist benchmarks/results .coverage
	@rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find transpile tests benchmarks examples docs -name __pycache__ -prune -exec rm -rf {} +
	@rm -rf cache
