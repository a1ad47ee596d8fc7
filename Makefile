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

RUNTIME := $(VENV)/.runtime-installed
DEV := $(VENV)/.dev-installed
COMPILED := setup.py src/gossamer/parse/skim.c src/gossamer/parse/simhash.h \
	src/gossamer/url/plain.c src/gossamer/url/keyset.h src/gossamer/url/md5.h \
	src/gossamer/store/group.c src/gossamer/store/sha1.h \
	src/gossamer/spider/plain_head.c src/gossamer/site/keys.c
LOCK_VENV := build/lock-venv
COMPILE := $(LOCK_VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-emit-find-links --upgrade \
	--custom-compile-command "make lock"

.DEFAULT_GOAL := help
.PHONY: help site test compiler programs check format docs bench lock clean setup

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
	@echo '#include <Python.h>' | $(or $(CC),cc) -fsyntax-only -x c -I"$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')" - 2>/dev/null && exit 0; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
		echo "make: no C compiler or no headers of Python: pages will be read more slowly; on Debian: sudo apt install gcc libc6-dev python3-dev" >&2; exit 0; \
	fi; \
	echo "Installing a C compiler and the headers of Python (once)"; \
	install() { DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends gcc libc6-dev python3-dev </dev/null >/dev/null; }; \
	install 2>/dev/null || { apt-get update -qq && install; } || \
		echo "make: cannot install a C compiler: pages will be read more slowly" >&2

# Never a reason to fail: without root, without apt or without network the tests say what they skip.
programs:
	@missing() { for name in $(TEST_PROGRAMS); do command -v $$name >/dev/null || return 0; done; \
		for name in $(TEST_FOLDERS); do [ -d $$name ] || return 0; done; return 1; }; \
	missing || exit 0; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
		echo "make: some tests will be skipped; on Debian: sudo apt install $(TEST_PACKAGES)" >&2; exit 0; \
	fi; \
	echo "Installing $(TEST_PACKAGES) for the tests (once)"; \
	install() { failed=; for package in $(TEST_PACKAGES); do DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes \
		--no-install-recommends $$package </dev/null >/dev/null || failed=1; done; [ -z "$$failed" ]; }; \
	install 2>/dev/null || { apt-get update -qq && install; } || \
		echo "make: cannot install $(TEST_PACKAGES); the tests that need them will be skipped" >&2

check: $(DEV) ## Check style (ruff) and types (mypy)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(DEV) ## Format the source
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DEV) ## Write the reference pages that are made from the source
	$(BIN)/python -m gossamer.cli.reference docs/reference

bench: compiler $(DEV) ## Measure against other crawlers on this machine; news and the service by themselves
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
	rm -rf $(VENV) build dist demo src/gossamer/parse/_skim*.so src/gossamer/url/_plain*.so src/gossamer/store/_group*.so src/gossamer/spider/_plain_head*.so src/gossamer/site/_keys*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
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
