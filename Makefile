# Two commands: `make run` serves Cubeyard, `make test` passes every test. Both set up what is missing first.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.SUFFIXES:
MAKEFLAGS += --no-print-directory

CUBEYARD_PORT ?= 8080

.PHONY: help setup setup-test run test lint fmt bench audit clean distclean

help: ## what there is to say to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## what the product needs
	@bin/setup run

setup-test: ## what its tests need too
	@bin/setup test

run: setup ## serve Cubeyard with its own PostgreSQL on http://127.0.0.1:8080 (CUBEYARD_PORT sets another port)
	@exec bin/serve --port $(CUBEYARD_PORT)

test: setup-test ## pass every check and every test; TEST="lint rust python page journeys emulation deployment" picks some
	@bin/test $(TEST)

lint: setup-test ## formats, lints, types, and the arrows between the rooms
	@bin/lint

fmt: setup-test ## put every file into its one format
	@bin/fmt

bench: setup-test ## measure the speed of this machine against the promises
	@bin/bench

audit: ## known weaknesses and licences of the packages we use (needs cargo-deny)
	@cd emulator && cargo deny check
	@cd frontend && npm audit --omit=dev

clean: ## remove what builds and tests made
	rm -rf emulator/target frontend/dist frontend/coverage e2e/test-results e2e/playwright-report
	rm -f .setup/engine .setup/page

distclean: clean ## remove what setup made too
	rm -rf .setup backend/.venv backend/*.egg-info frontend/node_modules e2e/node_modules
