# Every target is also a plain command: see CONTRIBUTING.md. `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/sh
.DELETE_ON_ERROR:

# PYTHON=python3.12 chooses the interpreter that .venv is made from; TORCH=cpu the build of torch.
PYTHON ?=
TORCH ?=
PORT ?= 8000
ASSIGNMENT ?= head
# Where the model answers are, for those who keep them elsewhere.
COURSE_SOLUTIONS ?= solutions

# The environment's own tools first: nbgrader calls alembic, the book calls node.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
PY := .venv/bin/python
# Whatever python3 starts, setup_env.py goes on to find Python 3.11 to 3.13.
SETUP = $(or $(PYTHON),python3) .ci/setup_env.py --python "$(PYTHON)" --torch "$(TORCH)"

.PHONY: help setup ready book serve notebooks exercises grade results bench check test test-all clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: ## install everything into .venv (TORCH=cpu: torch without CUDA; PYTHON=python3.12)
	@$(SETUP)

ready:
	@$(SETUP) --quiet

book: ready ## run the notebooks and build the pages into _build/html (PDF=1: printed as well)
	@$(PY) book/_ext/build.py

serve: ## show the built pages in a browser (PORT=8000)
	@$(or $(PYTHON),python3) .ci/serve.py --port $(PORT)

notebooks: ready ## run every notebook of book/ and solutions/, without building the pages
	@$(PY) book/_ext/execute.py book solutions

exercises: ready ## write exercises/ anew from solutions/
	@$(PY) $(COURSE_SOLUTIONS)/regenerate.py

grade: ready ## grade the submissions in class/ (ASSIGNMENT=head)
	@$(PY) -m course grade $(ASSIGNMENT)

results: ready ## run the recorded experiments that are missing or stale (hours)
	@$(PY) -m course records refresh

bench: ready ## measure the course against what one would use instead, and the limit
	@$(PY) -m benchmarks --install

check: ready ## the quick part of test: lint, types, import floors, unit tests
	@$(PY) .ci/stages.py --only lint,types,floors,unit

test: ready ## everything but the slow tests: code, notebooks, pages, browser, grading
	@$(PY) .ci/stages.py

test-all: ready ## test, and the slow tests too
	@$(PY) .ci/stages.py --slow

clean: ## remove what was built; .venv, _build/npm and class/ stay
	@$(or $(PYTHON),python3) .ci/clean.py
