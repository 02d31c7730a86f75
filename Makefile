# make demo   installs what is missing and runs the main job on the embedded demo application
# make test   installs what is missing and passes all tests
# make check  format, lints, documentation
#
# Assumed: a Rust toolchain (1.95 or newer) and make. As root on Debian the rest is installed; elsewhere both say what is
# missing and how to get it. The development profile serves all of them: it builds in a third of the time of a release.

CARGO ?= cargo
CARGO_FLAGS ?= --locked
BROWSERS ?= 2

.PHONY: demo test check setup fmt install help

help:
	@sed -n 's/^# //p' Makefile | head -3

demo: setup
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

setup:
	@sh scripts/setup.sh build browser

fmt:
	$(CARGO) fmt --all

install: setup
	$(CARGO) install $(CARGO_FLAGS) --path .
