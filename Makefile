# Every target makes .venv first when it is missing or older than pyproject.toml.
# Another interpreter: make test PYTHON=python3.13

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help reproduce test bench format clean

help: ## show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 12

reproduce: $(READY) ## the paper's results, into results/
	$(BIN)/globalbandits reproduce

test: $(READY) ## format check, lint, types, import direction, then doctests and tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/pytest --numprocesses auto --dist loadfile --cov --cov-report=term

bench: $(READY) ## measure speed and memory, into results/bench.json
	$(BIN)/python -m benchmarks.run

format: $(READY) ## rewrite the code in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove results, caches and build products (.venv stays)
	rm -rf results build dist .coverage .coverage.* .hypothesis .import_linter_cache \
		.mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

$(READY): pyproject.toml
	@command -v $(PYTHON) >/dev/null || \
		{ echo "globalbandits needs Python 3.11 or newer, but $(PYTHON) was not found." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "globalbandits needs Python 3.11 or newer, but $(PYTHON) is" \
		"$$($(PYTHON) -V 2>&1); try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@
