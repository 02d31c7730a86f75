#!/usr/bin/env bash
# The story of the discount code with a real model: recorded, replayed, renamed and healed, replayed again.
#
#   scripts/live.sh PROVIDER/MODEL      (its key in the environment; besides Rust and a browser, node serves the page)
#
# AGENT_TEST_BIN names a program that is built already.
set -euo pipefail
model=${1:?name a model: PROVIDER/MODEL}
root=$(cd "$(dirname "$0")/.." && pwd)
bin=${AGENT_TEST_BIN:-}
if [ -z "$bin" ]; then
  (cd "$root" && cargo build --locked)
  bin="$root/target/debug/agent-test"
fi
work=$(mktemp -d)
shop=
trap '[ -z "$shop" ] || kill "$shop" 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir -p "$work/flows"
cp "$root/scripts/live/discount.yaml" "$work/flows/discount.yaml"

# Serves the shop whose button has this label.
serve() {
  [ -z "$shop" ] || kill "$shop"
  : > "$work/address"
  node "$root/scripts/live/shop.mjs" "$1" > "$work/address" &
  shop=$!
  for _ in $(seq 100); do
    [ -s "$work/address" ] && break
    sleep 0.1
  done
  base=$(cat "$work/address")
  [ -n "$base" ] || { echo "live: the shop did not start" >&2; exit 1; }
}

# Runs the flow; its step must be replayed, handed off or missed, as told.
run() {
  echo "live: expecting 1 $1"
  "$bin" --project-dir "$work" flow "$work/flows" --base-url "$base" --model "$model" --cache read-write "${@:2}" | tee "$work/out"
  grep -q "Cache  1 $1\$" "$work/out" || { echo "live: expected 1 $1 with $model" >&2; exit 1; }
}

serve Apply
run missed
run replayed --strict-cache
serve Redeem
run "handed off"
run replayed --strict-cache
echo "live: the story holds with $model"
