#!/bin/sh
# Fuzzes one target: fuzz.sh TARGET SECONDS
#
# `cargo +nightly fuzz run TARGET` does the same with a sanitizer, where cargo-fuzz is installed. This needs neither: the
# stable compiler instruments the crate itself (not its dependencies) for libFuzzer; a C++ compiler builds that.
set -eu
target=${1:?usage: fuzz.sh TARGET SECONDS}
seconds=${2:-600}
cd "$(dirname "$0")/../fuzz"

mkdir -p work/"$target" artifacts/"$target"
RUSTC_WRAPPER="$PWD/instrument.sh" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}" \
  cargo build --locked --bin "$target"
# New inputs go to work/, which is not kept; the corpus in the repository stays as small as it is.
exec "${CARGO_TARGET_DIR:-$PWD/target}/debug/$target" -max_total_time="$seconds" -max_len=8192 -timeout=20 -rss_limit_mb=2048 \
  -print_final_stats=1 -artifact_prefix=artifacts/"$target"/ work/"$target" corpus/"$target"
