#!/usr/bin/env bash
# The story of the discount code with a real model: recorded, replayed, renamed and healed, replayed again.
#
#   scripts/live.sh PROVIDER/MODEL      (its key in the environment; nothing else is needed)
set -euo pipefail
model=${1:?name a model: PROVIDER/MODEL}
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
cargo build --locked
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
mkdir -p "$work/flows"
cp scripts/live/discount.yaml "$work/flows/discount.yaml"
serve() {
  [ -z "$server" ] || kill "$server"
  python3 scripts/live/shop.py "$work/port" "$1" &
  server=$!
  for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
  base="http://127.0.0.1:$(cat "$work/port")"
  rm "$work/port"
}
run() {
  "$root/target/debug/agent-test" --project-dir "$work" flow "$work/flows" --base-url "$base" --model "$model" --cache read-write --json "${@:2}" > "$work/out.json"
  python3 -c "import json,sys; c=json.load(open('$work/out.json'))['cache']; print('$1', c); sys.exit(0 if c.get('$1') == 1 else 1)"
}
serve Apply
run missed
run replayed --strict-cache
serve Redeem
run handedOff
run replayed --strict-cache
echo "live: the story holds with $model"
