# Everything a user or CI does, in one place. Needs git, Python 3.11 or newer, a C compiler and cargo; installs the rest into
# .venv of this checkout. A second call redoes only what changed.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
# One interpreter for maturin, clippy and the tests, so that cargo never rebuilds because it changed.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

RUST_SOURCES := $(shell find crates -name '*.rs' -o -name '*.toml' -o -path 'crates/*/tables/*') Cargo.toml Cargo.lock rust-toolchain.toml

FUZZ_SECONDS ?= 20
FUZZ_TARGETS := $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs)))

.PHONY: help build demo test test-rust test-python fuzz bench bench-throughput bench-instructions lint format lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 30

build: $(STAMPS)/core ## build Backwater into .venv

demo: build ## one congestion point under ECN and under TCD: a table, a picture, results folders
	$(BIN)/backwater demo

test: test-rust test-python ## run every test

test-rust: $(STAMPS)/dev
	cargo test --workspace --locked

test-python: $(STAMPS)/core
	$(BIN)/python -m pytest

bench: bench-throughput bench-instructions ## packet-hops per CPU-second, memory, instructions per packet-hop

bench-throughput:
	@for workload in k8 k16; do for engine in windows heap; do \
	  cargo run --release --locked --quiet -p backwater-benches --bin throughput -- $$workload --engine $$engine || exit; \
	done; done

bench-instructions: $(STAMPS)/gungraun ## instructions per packet-hop against their references; needs valgrind
	@command -v valgrind >/dev/null || { echo "make bench-instructions needs valgrind (apt-get install valgrind)" >&2; exit 2; }
	GUNGRAUN_RUNNER=$(CURDIR)/$(VENV)/cargo/bin/gungraun-runner \
	  cargo bench --locked -p backwater-benches --bench instructions -- --output-format=json \
	  | cargo run --release --locked --quiet -p backwater-benches --bin instruction-gate

# No sanitizer: there is no unsafe code to watch, and without one the pinned toolchain suffices.
fuzz: $(STAMPS)/cargo-fuzz ## give every reader of user input random text, FUZZ_SECONDS (20) each
	@log=$$(mktemp); trap 'rm -f "$$log"' EXIT; for target in $(FUZZ_TARGETS); do \
	  mkdir -p fuzz/corpus/$$target; \
	  PATH="$(CURDIR)/$(VENV)/cargo/bin:$$PATH" RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer none $$target \
	    fuzz/corpus/$$target fuzz/seeds/$$target -- -max_total_time=$(FUZZ_SECONDS) \
	    $$(test $$target = scenario && echo -dict=fuzz/scenario.dict) > "$$log" 2>&1 \
	    || { cat "$$log"; echo "$$target: broken, see above" >&2; exit 1; }; \
	  echo "$$target: no input broke it in $(FUZZ_SECONDS) s"; \
	done

lint: $(STAMPS)/core ## formatters, clippy, ruff, mypy, licences
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(BIN)/ruff format --check python papers
	$(BIN)/ruff check python papers
	$(BIN)/mypy
	@if cargo deny --version >/dev/null 2>&1; then cargo deny --offline check licenses bans sources; \
	else echo "cargo-deny is not installed: licences not checked"; fi

format: $(STAMPS)/dev ## format Rust and Python
	cargo fmt --all
	$(BIN)/ruff format python papers
	$(BIN)/ruff check --fix python papers

lock: $(STAMPS)/dev ## pin the newest Python packages that pyproject.toml allows (requirements.lock)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --generate-hashes --python-version 3.11 --upgrade \
	  --no-annotate --no-emit-index-url --custom-compile-command 'make lock' --quiet --output-file requirements.lock

clean: ## remove the virtual environment and everything that was built
	rm -rf $(VENV) target results python/backwater/_core*.so

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Backwater needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try make PYTHON=python3.12" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(STAMPS)/dev: requirements.lock | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@mkdir -p $(STAMPS) && touch $@

# The runner must be of the version that the benchmarks link.
$(STAMPS)/gungraun: benches/Cargo.toml | $(BIN)/python
	cargo install --quiet --locked --root $(VENV)/cargo gungraun-runner \
	  --version "$$(sed -n 's/^gungraun = "=\(.*\)"/\1/p' benches/Cargo.toml)"
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/cargo-fuzz: | $(BIN)/python
	cargo install --quiet --locked --root $(VENV)/cargo cargo-fuzz --version 0.13.2
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/core: $(STAMPS)/dev pyproject.toml $(RUST_SOURCES)
	source $(BIN)/activate && PIP_QUIET=1 maturin develop --release --locked
	@touch $@
