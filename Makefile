# Every target makes .venv first when it is missing or older than pyproject.toml: with the package
# and its extras to use it ($(READY)), with the tools of development as well to work on it ($(TOOLS)).
# Another interpreter: make test PYTHON=python3.13

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
TOOLS := .venv/.ready-tools
# The newest versions are what .venv has.
OLDEST := tests/compiling/test_compiler.py tests/compiling/test_fingerprint.py tests/compiling/test_views.py \
	tests/simulation/test_equivalence.py tests/policies/learner/test_learner.py tests/cli/test_arguments.py \
	tests/test_import.py tests/random
# Of all policies those that ask most of Numba (normal and beta numbers, matrices, much code).
ASKING := wagp or ucb1 or thompson_sampling or ts_c or oful or elastic

# Python keeps the byte code of all packages here, whatever the caller's environment says. Otherwise
# each of the many processes of the tests would translate NumPy, Numba and pandas from source again.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache

.DEFAULT_GOAL := help
.PHONY: help lint types system pyodide reproduce test pytest coverage oldest bench remeasure soak docs browser pictures extras mutants release serve demo format clean

help: ## show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 12

reproduce: $(READY) ## the paper's results, into results/
	$(BIN)/globalbandits reproduce

test: ## format check, lint, import direction, then types, the oldest versions, doctests and tests
	$(MAKE) --jobs 5 --no-print-directory pytest oldest types

# Some tests wait for a browser or a server. Types and the oldest versions are checked meanwhile.
pytest: lint system pyodide
	$(BIN)/pytest --numprocesses auto --dist worksteal

lint: $(TOOLS) # format, lint and the directions of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-logo

types: $(TOOLS) # types of the package and of the example in README
	$(BIN)/mypy
	$(BIN)/python docs/_ext/example.py README.md build/readme_example.py
	$(BIN)/mypy --strict build/readme_example.py

coverage: $(TOOLS) ## which lines and branches the tests run; takes half as long again as the tests
	$(BIN)/pytest --numprocesses auto --dist worksteal --cov --cov-report=term

oldest: .venv-oldest/.ready ## compiled code, learners and the command line on the oldest allowed versions
	.venv-oldest/bin/python -m pytest --quiet -p no:cacheprovider -W ignore::DeprecationWarning $(OLDEST) \
		-k "not every_policy or $(ASKING)"

soak: $(TOOLS) ## what is too long for every change: more runs, more fuzz, histories of 10^7 rows; takes hours
	GLOBALBANDITS_SOAK=1 GLOBALBANDITS_FUZZ=100000 $(BIN)/pytest --numprocesses auto --dist worksteal --timeout 7200

system: # programs that some tests use: installed where that can be done, else named
	@missing=; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || missing="$$missing postgresql"; \
	command -v chromium >/dev/null || command -v google-chrome >/dev/null || missing="$$missing chromium"; \
	test -x /usr/sbin/nginx || command -v nginx >/dev/null || missing="$$missing nginx"; \
	test -z "$$missing" || \
		{ test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq >/dev/null 2>&1 && \
		DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $$missing >/dev/null 2>&1; } || \
		echo "Tests that need one of these programs will be skipped. To run them: apt-get install$$missing"

PYODIDE := build/pyodide/node_modules/pyodide

pyodide: # the runtime for tests in Node: installed where that can be done, else said
	@test -d $(PYODIDE) || npm install --silent --no-audit --no-fund --prefix build/pyodide pyodide@314.0.7 >/dev/null 2>&1 || \
		echo "No Pyodide here: its tests will be skipped. They need Node and npm."

bench: $(TOOLS) ## measure speed and memory, into results/bench.json
	$(BIN)/python -m benchmarks.run

remeasure: $(TOOLS) ## measure a random dozen of the figures in docs/measured again
	$(BIN)/python -m benchmarks._remeasure

docs: $(TOOLS) ## the documentation site, into build/site; a warning is an error
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/site
	@echo "open build/site/index.html"

browser: docs pyodide ## the site with the runtime of its page "In a browser"; needs Node, npm and a network
	$(BIN)/python docs/_ext/browser.py $(PYODIDE) build/site/_static/browser/runtime
	node docs/_ext/browser.mjs build/site/_static/browser/runtime docs/_static/browser/shop.py

mutants: $(TOOLS) ## put 200 small errors into the source and list those that no test finds; takes hours
	$(BIN)/python -m tests.mutants.mutate

extras: $(TOOLS) ## install each extra alone in an environment of its own, use it, and measure its size
	$(BIN)/python tests/extras/environments.py

release: $(TOOLS) extras ## build both packages into dist/, check what they say about themselves, and each extra
	.ci/install $(BIN)/python --group release
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(BIN)/pyroma --min=8 .

pictures: $(TOOLS) ## draw the pictures of README and the site again, into docs/images
	$(BIN)/python docs/_ext/pictures.py README.md docs/about/gallery.md docs/howto/browser.md docs/howto/browser.md

serve: $(READY) ## the decision service on this machine, with an example bandit, in results/example.db
	@mkdir -p results
	$(BIN)/globalbandits serve --db results/example.db --example

demo: $(READY) ## the decision service with three bandits and simulated customers, to be watched
	$(BIN)/python examples/demo/watch.py

format: $(TOOLS) ## rewrite the code in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove results, caches and build products (.venv stays)
	rm -rf results build dist .coverage .coverage.* .hypothesis .import_linter_cache \
		.mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

$(READY): pyproject.toml | $(BIN)/python
	.ci/install $(BIN)/python --editable '.[all]'
	@touch $@

$(TOOLS): pyproject.toml | $(BIN)/python
	.ci/install $(BIN)/python --editable '.[all]' --group dev
	@touch $(READY) $@

.venv-oldest/.ready: tests/oldest.txt pyproject.toml | .venv-oldest/bin/python
	.ci/install .venv-oldest/bin/python --requirement tests/oldest.txt
	.ci/install .venv-oldest/bin/python --no-deps --editable .
	@touch $@

.venv/bin/python .venv-oldest/bin/python:
	@command -v $(PYTHON) >/dev/null || \
		{ echo "globalbandits needs Python 3.11 or newer, but $(PYTHON) was not found." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "globalbandits needs Python 3.11 or newer, but $(PYTHON) is" \
		"$$($(PYTHON) -V 2>&1); try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(@D:/bin=)
