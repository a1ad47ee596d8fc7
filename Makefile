# Every target does its own set-up: a virtual environment from locked, hashed versions.
# Needs python3 (3.11 or newer, with venv) and make. `make help` lists the targets.

# Chosen when it is needed, and once.
ifeq ($(origin PYTHON), undefined)
PYTHON = $(eval PYTHON := $(or $(shell $(SHELL) scripts/python.sh),python3))$(PYTHON)
endif
VENV := .venv
BIN := $(VENV)/bin
URL ?=
MAX_PAGES ?= 200
# As it was typed: a $ in a URL is none of make's.
override URL := $(value URL)
export URL MAX_PAGES

# Some tests look at what was written with these; where they are missing, those tests are skipped.
TEST_PROGRAMS := chromium dot
TEST_PACKAGES := chromium graphviz python3.11-doc postgresql-doc-15 git-doc libtiff-doc
TEST_FOLDERS := /usr/share/doc/python3.11/html /usr/share/doc/postgresql-doc-15/html \
	/usr/share/doc/git-doc /usr/share/doc/libtiff-doc/manual
# The benchmarks' server, sites and peers; where they are missing, those are left out.
BENCH_PROGRAMS := nginx wget2 npm
BENCH_PACKAGES := nginx-light wget2 npm openjdk-17-doc pike8.0-doc python3.11-doc
BENCH_FOLDERS := /usr/share/doc/openjdk-17-jre-headless/api /usr/share/doc/pike8.0-doc/html/reference \
	/usr/share/doc/python3.11/html
PACKAGES := $(SHELL) scripts/packages.sh

RUNTIME := $(VENV)/.runtime-installed
DEV := $(VENV)/.dev-installed
COMPILED := setup.py $(wildcard src/gossamer/*/*.c src/gossamer/*/*.h)
LOCK_VENV := build/lock-venv
COMPILE := $(LOCK_VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-emit-find-links --upgrade \
	--custom-compile-command "make lock"

.DEFAULT_GOAL := help
.PHONY: help site test compiler programs peers check format docs bench lock clean setup

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-14s %s\n", $$1, $$2}'
	@echo "  make site URL=https://example.org/ crawls that site (at most MAX_PAGES=200 pages)"

site: $(RUNTIME) ## Crawl a demo web started here on loopback, or URL=...
	@if [ -z "$$URL" ]; then \
		$(BIN)/python scripts/demo.py demo; \
	else \
		host=$$(printf '%s' "$$URL" | sed -E 's|^[A-Za-z][A-Za-z0-9+.-]*://||; s|[/?#].*$$||; s|^.*@||; s|[^A-Za-z0-9.-]|_|g; s|^[.]+|_|'); \
		$(BIN)/gossamer crawl "$$URL" --dir "workspace/$${host:-site}" --max-pages "$$MAX_PAGES" && \
		$(BIN)/gossamer status --dir "workspace/$${host:-site}"; \
	fi

test: compiler check programs ## Check the style and the types, then run all tests
	$(BIN)/pytest -n 2

# For the compiled parts. Without them everything works, only slower; their tests are skipped.
compiler:
	@echo '#include <Python.h>' | $(or $(CC),cc) -fsyntax-only -x c -I"$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')" - 2>/dev/null || \
		$(PACKAGES) "without a C compiler and the headers of Python pages are read more slowly" gcc libc6-dev python3-dev

programs:
	@missing=; for name in $(TEST_PROGRAMS); do command -v $$name >/dev/null || missing=1; done; \
	for name in $(TEST_FOLDERS); do [ -d $$name ] || missing=1; done; \
	[ -z "$$missing" ] || $(PACKAGES) "some tests will be skipped" $(TEST_PACKAGES)

peers:
	@missing=; for name in $(BENCH_PROGRAMS); do PATH="$$PATH:/usr/sbin" command -v $$name >/dev/null || missing=1; done; \
	for name in $(BENCH_FOLDERS); do [ -d $$name ] || missing=1; done; \
	[ -z "$$missing" ] || $(PACKAGES) "some sites and peers will be left out" $(BENCH_PACKAGES)

check: $(DEV) ## Check style (ruff) and types (mypy)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(DEV) ## Format the source
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DEV) ## Write the reference pages that are made from the source
	$(BIN)/python -m gossamer.cli.reference docs/reference

bench: compiler peers $(DEV) ## Measure against other crawlers on this machine; news and the service by themselves
	$(BIN)/python bench/run.py
	$(BIN)/python bench/news.py
	$(BIN)/python bench/service.py

lock: ## Choose the newest versions of all dependencies and lock them with hashes
	$(PYTHON) -m venv $(LOCK_VENV)
	$(LOCK_VENV)/bin/pip install --quiet uv
	$(COMPILE) --output-file requirements/build.txt requirements/build.in
	$(COMPILE) --output-file requirements/runtime.txt pyproject.toml
	$(COMPILE) --extra dev --output-file requirements/dev.txt pyproject.toml

setup: $(DEV) ## Only make the virtual environment

clean: ## Remove what was made here: environment, caches, demo
	rm -rf $(VENV) build dist demo src/gossamer/*/_*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
	find src tests bench scripts -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUNTIME): requirements/build.txt requirements/runtime.txt pyproject.toml $(COMPILED)
	$(call install,requirements/runtime.txt)

$(DEV): requirements/build.txt requirements/dev.txt pyproject.toml $(COMPILED)
	$(call install,requirements/dev.txt)
	@touch $(RUNTIME)

define install
	@command -v $(PYTHON) >/dev/null || { echo "make: there is no $(PYTHON) here; install Python 3.11 or newer, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: gossamer needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V 2>&1); name a newer one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "make: $(PYTHON) cannot make virtual environments; on Debian or Ubuntu: apt install python3-venv" >&2; exit 1; }
	@# An environment that works keeps its interpreter: two in one folder are none.
	@$(BIN)/python -c 'import pip' 2>/dev/null || { echo "Setting up $(VENV) (once)"; $(PYTHON) -m venv --clear $(VENV); }
	@echo "Installing what $(1) locks"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.txt -r $(1)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
endef
