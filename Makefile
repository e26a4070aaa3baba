# Every target does its own set-up: a fresh machine needs only python3 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# one BLAS thread: two cores are shared by the test workers, and small matrices only lose by threads
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1

.PHONY: demo test test-long test-oldest test-versions newcomer check format lint docs dist bench-core bench-policies bench-peers bench-scale lock clean setup

setup: $(VENV)/.ready

$(VENV)/.ready: requirements-dev.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements-dev.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

demo: setup ## a small real run, from nothing to a certified Pareto set
	$(BIN)/python examples/demo.py

test: setup ## every test
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-long: setup ## the longer statistical runs as well
	PARETOSCOPE_LONG=1 $(BIN)/python -m pytest -n 2 --dist worksteal

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test ## what CI runs: format, lint, types, arrows of the house, tests

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench-core: setup ## speed of the kernels beside their peers, each row checked for equality
	$(BIN)/python -m pytest benchmarks -c benchmarks/pytest.ini

bench-policies: setup ## speed of the other policies, each row checked against its slow twin
	$(BIN)/python -m pytest benchmarks/bench_rivals.py -c benchmarks/pytest.ini -s

bench-scale: setup ## a million candidates: seconds, memory and files, each row checked; minutes
	$(BIN)/python benchmarks/scale.py measure
	$(BIN)/python benchmarks/scale.py page
	$(BIN)/python benchmarks/scale.py show

bench-peers: setup ## the same noisy task for another tool and for this one
	$(BIN)/python examples/compare_optuna.py

docs: setup ## the pages in docs/_build/html; warnings are errors
	$(BIN)/python -m sphinx -q -E -W --keep-going -b html docs docs/_build/html

dist: setup ## wheel and sdist in dist/, the wheel tried in an empty environment
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python packaging/check_wheel.py dist

test-oldest: setup ## core tests with the oldest versions that pyproject.toml allows
	PYTHON=$(PYTHON) $(BIN)/python packaging/oldest.py

test-versions: setup ## the wheel under every Python that this machine has
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python packaging/versions.py dist

newcomer: setup ## from an empty folder to the first suggestion, timed
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python packaging/newcomer.py dist

lock: setup ## refresh the pinned development environment
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --group dev --all-extras pyproject.toml --output-file requirements-dev.lock

clean:
	rm -rf $(VENV) dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .benchmarks
