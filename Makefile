# Two commands: `make run` serves Cubeyard, `make test` runs every test. Both first set up what is
# missing.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.SUFFIXES:
MAKEFLAGS += --no-print-directory

CUBEYARD_PORT ?= 8080

.PHONY: help setup setup-test setup-bench run test lint fmt docs wheels bench audit clean distclean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install and build what the product needs
	@bin/setup run

setup-test: ## the same, and what its tests need
	@bin/setup test

setup-bench: ## the same, and the programs that `make bench` compares with
	@bin/setup bench

run: ## serve Cubeyard with its own PostgreSQL on http://127.0.0.1:8080 (CUBEYARD_PORT sets another port)
	@bin/setup run --serve
	@exec bin/serve --port $(CUBEYARD_PORT)

test: setup-test ## run the checks and tests of each change; TEST=all runs every test, TEST=quick the fast ones, TEST="rust page" some stages (TEST=list names them)
	@bin/test $(TEST)

lint: setup-test ## check formats, lints, types and the import directions between rooms
	@bin/lint

fmt: setup-test ## format every file
	@bin/fmt

wheels: ## put wheels for notebooks and servers into dist/: cubeyard, cubeyard-engine, cubeyard-programs
	@bin/setup run --release
	@bin/wheels

docs: setup ## build the documentation site into dist/docs; `make run` serves it under /docs
	@bin/docs

bench: setup-bench ## measure the promised speeds, as ratios to other programs on this machine
	@bin/bench

audit: setup-test ## check the packages we use for known vulnerabilities and for their licences
	@bin/audit

clean: ## remove what builds and tests wrote
	rm -rf dist emulator/target frontend/dist frontend/coverage e2e/test-results e2e/playwright-report
	rm -f .setup/engine .setup/page

distclean: clean ## the same, and what setup installed inside this folder; names what it leaves outside
	@bin/distclean
