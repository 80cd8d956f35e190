# Plumb's build. `make help` lists what to ask for.
#
#   mk/sources.mk  what it is built from      mk/product.mk  command, libraries, lab, Python package
#   mk/flags.mk    compilers and flags        mk/tests.mk    the suites
#   mk/trees.mk    one rule set for all       mk/fuzz.mk     fuzzing, and the corpus replayed
#                  object trees               mk/care.mk     installation, format, benchmarks

PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
B := build

VERSION := $(shell sed -n 's/^\#define PLUMB_VERSION "\(.*\)"/\1/p' include/plumb.h)
SOVERSION := $(firstword $(subst ., ,$(VERSION)))

.DEFAULT_GOAL := all
include mk/sources.mk mk/flags.mk mk/trees.mk mk/product.mk mk/tests.mk mk/fuzz.mk mk/care.mk

# ---- set-up ---------------------------------------------------------------------------

.PHONY: setup setup-test
setup: ## install what building needs (Debian packages; root or sudo)
	@scripts/setup-packages.sh build

setup-test: ## also what tests and benchmarks need (frameworks in a virtual environment)
	@scripts/setup-packages.sh build test
	@scripts/setup-venv.sh

# ---- the main jobs --------------------------------------------------------------------

# The second make sees what the set-up has just installed.
.PHONY: demo test check run-tests
demo: setup ## find a planted difference between checkpoints, and where a run went wrong
	@$(MAKE) --no-print-directory -s -j$(JOBS) all $(B)/bin/examples/c/make_checkpoints
	@scripts/demo.sh

FAST_SUITES := style warnings unit golden docs property torture corpus run-corpus records-corpus
FULL_SUITES := $(FAST_SUITES) lab-test tsan zlib examples install-test interop capture crossframework

check: ## the fast loop: style, warnings, sanitized tests; no frameworks
	@scripts/run-suites.sh $(FAST_SUITES)

test: setup-test ## everything; ends with one line "N passed, M failed"
	@$(MAKE) --no-print-directory -s run-tests

run-tests:
	@scripts/run-suites.sh $(FULL_SUITES)

.PHONY: clean help
clean: ## remove build/
	rm -rf $(B) $(EXTENSION)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
