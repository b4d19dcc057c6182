# Every target sets itself up in .venv from constraints.txt. `make` alone lists them.
PYTHON ?= python3
OLDEST_PYTHON ?= python3.11
ARGS ?=
FORMAT ?=
CASES ?=
SEED ?= 1
KILLS ?= 100
RUNS ?= runs$(if $(findstring --quick,$(ARGS)),-quick)

VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest
NEWEST := .venv-newest
BENCH := .venv-bench
PEERS := .venv-peers
MUTANTS := .venv-mutants

# Two processes with one BLAS thread each: faster than the other way round, and repeatable. The
# tests of a file stay in one of them, so that what they share is made once. The commands
# that tests start by the hundred find compiled modules.
PYTEST := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile
# What rounding may decide: run under other kernels of BLAS, too.
NUMERICAL := tests/agreement $(addprefix tests/test_,$(addsuffix .py,algebra alternating classifier csrda \
	degenerate departures evaluation goldens hoda kernelcsda leave_one_out likelihood_ratio methods \
	mode_scaler moments probabilistic scatter shared_core solvers streams thresholds verifier))
ORDINARY := -m "not realdata and not long and not slow and not browser and not big and not cluster"

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help setup setup-docs setup-neural demo test test-kernels test-long test-realdata test-slow test-cluster test-browser test-oldest test-newest test-torch test-dist \
	lint types format docs test-docs tables fuzz mutants soak kills bench must-show in-turn recordings answers kinds big dist constraints clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

# ── Environments ────────────────────────────────────────────────────────────────────────────────
# A stamp stands for one set of packages in .venv and is older than what it was made from. Each is
# one pip call, so what nobody asks for (torch, Sphinx) is never installed.
install = $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt
stamp = @mkdir -p $(VENV)/stamps && touch $@
WANTED := pyproject.toml constraints.txt

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "tenfold needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) --version);" \
		"name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Making $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/stamps/core: $(WANTED) | $(BIN)/python
	@echo "Installing tenfold, its command line and its report"
	@$(install) pip
	@$(install) -e ".[cli,report]"
	$(stamp)

$(VENV)/stamps/test: $(VENV)/stamps/core
	@echo "Installing the extras and the test tools (about a minute)"
	@$(install) -e ".[all]" --group test
	$(stamp)

$(VENV)/stamps/lint: $(VENV)/stamps/core
	@echo "Installing the linters"
	@$(install) --group lint
	$(stamp)

$(VENV)/stamps/docs: $(VENV)/stamps/test
	@echo "Installing Sphinx"
	@$(install) --group docs
	$(stamp)

$(VENV)/stamps/browser: $(VENV)/stamps/test
	@echo "Installing what drives a browser"
	@$(install) --group browser
	$(stamp)

$(VENV)/stamps/dist: $(VENV)/stamps/core
	@$(install) --group dist
	$(stamp)

$(VENV)/stamps/neural: $(VENV)/stamps/test
	@echo "Installing torch"
	@$(install) --group neural
	$(stamp)

setup: $(VENV)/stamps/test $(VENV)/stamps/lint ## everything to work on tenfold, but torch and Sphinx
setup-docs: $(VENV)/stamps/docs ## Sphinx, for make docs
setup-neural: $(VENV)/stamps/neural ## torch, for the rows N-BoF and TABL of FI-2010

# ── Use ─────────────────────────────────────────────────────────────────────────────────────────
demo: $(VENV)/stamps/core ## one subspace per digit, in seconds
	@$(BIN)/tenfold demo

# ── Check ───────────────────────────────────────────────────────────────────────────────────────
test: $(VENV)/stamps/test ## the tests and doctests, about three minutes; ARGS="-k moments" narrows them
	@echo "About three minutes on two cores"
	$(PYTEST) $(ORDINARY) $(ARGS)

test-realdata: $(VENV)/stamps/test ## the checks on ORL, PIE and FI-2010, minutes
	$(PYTEST) -m "realdata and not slow and not browser and not big" $(ARGS)

test-kernels: $(VENV)/stamps/test ## the numerical tests under each kind of BLAS kernels that runs here, minutes
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python tests/kernels.py \
		-n 2 $(ORDINARY) $(ARGS) $(NUMERICAL)

test-long: $(VENV)/stamps/test ## pages, commands and killed runs from end to end, minutes
	$(PYTEST) -m "long and not realdata and not slow and not browser and not cluster" $(ARGS)

test-slow: $(VENV)/stamps/test ## the tests that take more than ten seconds each
	$(PYTEST) -m "slow and not realdata and not browser" $(ARGS)

test-browser: $(VENV)/stamps/browser ## the report in Chromium, which must be installed
	$(PYTEST) -m browser $(ARGS) tests/browser

test-torch: $(VENV)/stamps/neural ## tensors of PyTorch in and out; installs torch
	$(PYTEST) -n 0 $(ARGS) tests/test_array_api.py

# FORMAT is a name or several with commas between them; all formats when it is empty.
fuzz: $(VENV)/stamps/test ## damaged files of every format; FORMAT=hdf5 CASES=20000 SEED=1, an hour for all formats
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python tests/fuzz/hostile_files.py \
		$(if $(FORMAT),--formats $(FORMAT)) --each $(or $(CASES),1000) --seed $(SEED) $(ARGS)

# mutmut needs an older pytest, hence an environment of its own. It runs the tests once to learn which
# of them touch which function; all mutants take days.
$(MUTANTS)/stamp: $(WANTED)
	@echo "Making $(MUTANTS)"
	@$(PYTHON) -m venv $(MUTANTS)
	@$(MUTANTS)/bin/python -m pip install -qq --disable-pip-version-check -U "pip>=25.1"
	@$(MUTANTS)/bin/python -m pip install -qq --disable-pip-version-check \
		-e ".[all]" --group test --group mutants
	@touch $@

mutants: $(MUTANTS)/stamp ## small errors put into the code: which does no test see? ARGS="'tenfold.linalg.solvers.*'"
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(MUTANTS)/bin/mutmut run --max-children 2 $(ARGS)
	$(MUTANTS)/bin/mutmut results

soak: $(VENV)/stamps/test ## random fits against formulas in extended precision; CASES=100000 takes an hour
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/agreement/soak.py --cases $(or $(CASES),10000) --seed $(SEED) $(ARGS)

test-cluster: $(VENV)/stamps/test ## the tests on two worker processes, some of which are killed
	$(PYTEST) -n 0 -m cluster $(ARGS)

kills: $(VENV)/stamps/test ## workers killed while models are fitted; KILLS=100 takes minutes
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python benchmarks/kills.py \
		--kills $(KILLS) --seed $(SEED) $(ARGS)

lint: $(VENV)/stamps/lint types ## style, types, and who may import whom
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

types: $(VENV)/stamps/lint ## mypy, strict
	$(BIN)/mypy

format: $(VENV)/stamps/lint ## rewrite the files as the formatter wants them
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# The newest of everything, but the oldest numpy, scipy and scikit-learn that pyproject.toml names.
# scikit-learn 1.6 asks for array-api-compat where later versions bring it along.
$(OLDEST)/stamp: $(WANTED)
	@echo "Making $(OLDEST)"
	@$(OLDEST_PYTHON) -m venv $(OLDEST)
	@$(OLDEST_PYTHON) -c 'import tomllib; \
		project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		print(*(line.replace(">=", "==") for line in project["dependencies"]), sep="\n")' \
		> $(OLDEST)/constraints.txt
	@$(OLDEST)/bin/python -m pip install -qq --disable-pip-version-check -U "pip>=25.1"
	@$(OLDEST)/bin/python -m pip install -qq --disable-pip-version-check \
		-e ".[all]" array-api-compat --group test -c $(OLDEST)/constraints.txt
	@touch $@

test-oldest: $(OLDEST)/stamp ## the tests with the oldest supported numpy, scipy, scikit-learn
	@cat $(OLDEST)/constraints.txt
	$(subst $(BIN),$(OLDEST)/bin,$(PYTEST)) $(ORDINARY) $(ARGS)

# The newest of everything that pyproject.toml allows, on the newest Python that runs here.
$(NEWEST)/stamp: pyproject.toml
	@python=$$(.ci/newest_python) && echo "Making $(NEWEST) with $$python" && rm -rf $(NEWEST) \
		&& "$$python" -m venv $(NEWEST)
	@$(NEWEST)/bin/python -m pip install -qq --disable-pip-version-check -U "pip>=25.1"
	@$(NEWEST)/bin/python -m pip install -qq --disable-pip-version-check -U -e ".[all]" --group test
	@touch $@

test-newest: $(NEWEST)/stamp ## the tests with the newest versions allowed, on the newest Python at hand
	@$(NEWEST)/bin/python --version
	@$(NEWEST)/bin/python -m pip list --format freeze --disable-pip-version-check | \
		grep -E '^(numpy|scipy|scikit-learn|pandas)=='
	$(subst $(BIN),$(NEWEST)/bin,$(PYTEST)) $(ORDINARY) $(ARGS)

# ── Pages, figures, releases ────────────────────────────────────────────────────────────────────
docs: $(VENV)/stamps/docs ## the site, in docs/_build/html; warnings are errors
	@rm -rf docs/generated  # pages of names that may be gone
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

test-docs: docs ## the site, and whether it says what is so
	$(PYTEST) $(ARGS) tests/test_docs.py

# In RUNS, one folder per table. A run that was interrupted goes on; all rows need torch.
tables: $(VENV)/stamps/neural ## the paper's three tables and those of others, hours; ARGS=--quick takes minutes
	@for name in orl pie fi2010 fi2010_published gait small; do \
		$(BIN)/python -m paper $$name --data "$${TENFOLD_DATA:-../shared/data}" \
			--out $(RUNS)/$$name $(ARGS) || exit 1; \
	done

# Peers have an environment of their own; rows whose package is missing are left out.
$(PEERS)/stamp: $(WANTED) paper/peers.txt
	@echo "Making $(PEERS)"
	@$(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install -qq --disable-pip-version-check \
		-e ".[cli,report,data]" -r paper/peers.txt
	@touch $@

recordings: $(PEERS)/stamp ## evoked potentials and series beside pyRiemann and MiniRocket, an hour; ARGS=--quick
	@for name in recordings series; do \
		$(PEERS)/bin/python -m paper $$name --data "$${TENFOLD_DATA:-../shared/data}" \
			--out $(RUNS)/$$name $(ARGS) || exit 1; \
	done

# An environment of its own, so that no peer decides which NumPy the tests see.
$(BENCH)/stamp: $(WANTED) benchmarks/requirements.txt
	@echo "Making $(BENCH)"
	@$(PYTHON) -m venv $(BENCH)
	@$(BENCH)/bin/python -m pip install -qq --disable-pip-version-check -c constraints.txt \
		-e ".[plot,data,cli]" tensorly
	@$(BENCH)/bin/python -m pip install -qq --disable-pip-version-check --no-deps \
		-r benchmarks/requirements.txt
	@touch $@

bench: $(BENCH)/stamp ## tenfold beside its peers, 25 minutes; ARGS=--quick takes two
	$(BENCH)/bin/python benchmarks/run.py $(ARGS)

must-show: $(BENCH)/stamp ## promised figures: asked, measured, reached; a quarter of an hour
	$(BENCH)/bin/python benchmarks/must_show.py $(ARGS)

in-turn: $(BENCH)/stamp ## own rows of the bench for this tree and another; ARGS=../before
	$(BENCH)/bin/python benchmarks/in_turn.py $(ARGS)

answers: $(VENV)/stamps/test ## how good the answers are, beside scikit-learn; rewrites its tables, 20 minutes
	$(BIN)/python benchmarks/answers.py $${TENFOLD_DATA:-../shared/data} --write $(ARGS)

kinds: $(PEERS)/stamp ## the table by kind of data in README, beside scikit-learn, pyRiemann and aeon, 10 minutes
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(PEERS)/bin/python benchmarks/kinds.py \
		$${TENFOLD_DATA:-../shared/data} --write $(ARGS)

big: $(VENV)/stamps/test ## more data than memory, at full size
	$(BIN)/python benchmarks/big.py $(ARGS)

dist: $(VENV)/stamps/dist ## wheel and sdist, in dist/, checked by twine
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

test-dist: $(VENV)/stamps/dist ## the wheel: built, checked by twine, installed by pip, uv and pipx
	$(BIN)/python tests/release/install_wheel.py --constraints constraints.txt

# ── House-keeping ───────────────────────────────────────────────────────────────────────────────
# Upgrades .venv to the newest versions allowed (torch stays: its builds differ between machines).
constraints: | $(BIN)/python ## resolve everything anew and rewrite constraints.txt
	$(BIN)/python -m pip install -qq -U pip
	$(BIN)/python -m pip install -qq -U --upgrade-strategy eager -e ".[all]" \
		--group test --group browser --group lint --group docs --group dist --group neural \
		"$$(grep '^torch==' constraints.txt)"
	head -n 1 constraints.txt > constraints.new
	$(BIN)/python -m pip freeze --all --exclude-editable | sed 's/+cpu$$//' | LC_ALL=C sort -f \
		>> constraints.new
	mv constraints.new constraints.txt

clean: ## remove what the other targets made, environments included
	rm -rf $(VENV) $(OLDEST) $(NEWEST) $(BENCH) $(PEERS) $(MUTANTS) mutants dist build docs/_build docs/auto_examples docs/generated \
		.pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
