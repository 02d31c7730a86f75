# make demo   installs what is missing and runs the main job on the embedded demo application
# make test   installs what is missing and passes all tests
# make check  format, lints, documentation
#
# Longer proofs: make fault-table (every fault at every system call of a transition), make bench-state (what a change of
# the state costs, beside the disk's floor, serde_json and jq), make bench-replay (a step of a replay beside Playwright),
# make bench-minimise (replays that shortening takes, beside ddmin), make bench-explore (an exploration beside a
# hand-written script; APPS="django glances" chooses), make bench-look (a look beside others' snapshots), make bench-memory
# (memory, workers, what is left behind), make bench-complete (what is explored of what is there, beside others), make bench-flow (a replayed
# flow beside Playwright), make bench-heal (a corpus of failing Playwright tests: what is repaired, and what falsely), make fuzz (TARGET=state_file SECONDS=600)
#
# Assumed: a Rust toolchain (1.95 or newer) and make. As root on Debian the rest is installed; elsewhere both say what is
# missing and how to get it. The development profile, which builds in a third of the time of a release, serves all but the explorer's benchmarks.

CARGO ?= cargo
CARGO_FLAGS ?= --locked
BROWSERS ?= 2

.PHONY: demo test check setup fmt install help fault-table bench-state bench-replay bench-minimise bench-explore bench-look \
	bench-memory bench-complete bench-flow bench-heal fuzz

help:
	@sed -n 's/^# //p' Makefile | head -5

demo:
	@sh scripts/setup.sh build browser
	$(CARGO) run $(CARGO_FLAGS) -- demo

# The quick ones first: a broken rule should not wait for a browser. No more than two tests with a browser at once.
test: setup
	$(CARGO) test $(CARGO_FLAGS) --lib --bins
	$(CARGO) test $(CARGO_FLAGS) --test main -- --test-threads=$(BROWSERS)
	$(CARGO) test $(CARGO_FLAGS) --doc

check:
	@sh scripts/setup.sh build
	@$(CARGO) fmt --version >/dev/null 2>&1 && $(CARGO) clippy --version >/dev/null 2>&1 || \
		{ echo "check: rustfmt or clippy is missing: rustup component add rustfmt clippy" >&2; exit 2; }
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(CARGO_FLAGS) --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(CARGO_FLAGS) --no-deps
	$(CARGO) metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null

fault-table:
	@sh scripts/setup.sh build faults
	AGENT_TEST_FAULTS=all $(CARGO) test $(CARGO_FLAGS) --test main -- --nocapture state_crash::no_fault

bench-state:
	@sh scripts/setup.sh build bench
	$(CARGO) bench $(CARGO_FLAGS) --bench state

bench-replay:
	@sh scripts/setup.sh build browser node
	$(CARGO) bench $(CARGO_FLAGS) --bench replay

bench-minimise:
	@sh scripts/setup.sh build browser
	$(CARGO) bench $(CARGO_FLAGS) --bench minimise

# The explorer on applications that nobody here wrote (benches/apps), installed below target/ on first use.
bench-explore: BENCH = speed
bench-look: BENCH = look
bench-memory: BENCH = memory
bench-complete: BENCH = complete
bench-explore bench-look bench-memory bench-complete:
	@sh scripts/setup.sh build browser peers
	$(CARGO) build $(CARGO_FLAGS) --release
	AGENT_TEST_BIN=$(CURDIR)/target/release/agent-test node benches/explore/$(BENCH).mjs $(APPS)

bench-flow:
	@sh scripts/setup.sh build browser node
	$(CARGO) bench $(CARGO_FLAGS) --bench flow

bench-heal:
	@sh scripts/setup.sh build browser node
	AGENT_TEST_CORPUS=all $(CARGO) test $(CARGO_FLAGS) --test main -- --nocapture heal_corpus::the_corpus
	$(CARGO) bench $(CARGO_FLAGS) --bench heal

TARGET ?= state_file
SECONDS ?= 600
fuzz:
	@sh scripts/setup.sh build
	sh scripts/fuzz.sh $(TARGET) $(SECONDS)

setup:
	@sh scripts/setup.sh build browser faults worktrees node

fmt:
	$(CARGO) fmt --all

install:
	@sh scripts/setup.sh build browser
	$(CARGO) install $(CARGO_FLAGS) --path .
