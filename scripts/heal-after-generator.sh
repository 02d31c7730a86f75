#!/bin/sh
# After a generator of tests (Playwright's own agents, or any other) has written specs: heals those that fail, and refuses
# edits that weaken a test. For CI; run it where the application is up.
#
#   BASE=origin/main BUDGET_USD=1 TOTAL_USD=3 sh scripts/heal-after-generator.sh tests/*.spec.ts
#
# Model tiers, if any, come from heal-tiers.json (`agent-test schema heal-tiers`); without that file nothing is spent.
# Request, plan and locators that the generator worked from come from specs/*.md, if there are any.
set -eu

[ $# -gt 0 ] || { echo "heal: name the spec files" >&2; exit 2; }
agent_test=${AGENT_TEST:-agent-test}
summary=${SUMMARY:-heal-summary.md}

set -- "$@" --markdown "$summary" --budget-usd "${BUDGET_USD:-1}" --total-budget-usd "${TOTAL_USD:-3}"
[ ! -f heal-tiers.json ] || set -- "$@" --tiers heal-tiers.json
for plan in specs/*.md; do
  [ ! -f "$plan" ] || set -- "$@" --guardrail "$plan"
done

# What was killed in an earlier job is put back by itself. Each spec is healed alone, inside what is left of the money.
code=0
"$agent_test" heal --all "$@" -- ${TEST_COMMAND:-npx playwright test} "{file}" || code=$?
[ "$code" -le 1 ] || exit "$code"

# Whoever edited: generator, healer, person or agent. Weaker than on the base branch is not merged.
if [ -n "${BASE:-}" ]; then
  "$agent_test" heal --check --base "$BASE" || code=1
fi
exit "$code"
