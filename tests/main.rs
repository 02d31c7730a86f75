//! One binary of tests that start the built program. One module per feature; each line says what belongs there.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on says so by panicking")]

mod campaign; // transitions of one campaign, as agents drive them
mod campaign_kit; // no tests: a started campaign, reports as an agent writes them
mod cli_reference; // the help of every command, completions, manual pages
mod demo; // the demo application: switches, ledger, manifest, and a browser over its pages
mod doctor; // what is missing on a machine, and what to do about it
mod driver; // the driver process: found, started, and dead with its browsers however its owner ends
mod explore; // what an exploration meets and what it never does, on small pages in a browser
mod explore_bugs; // each kind of fault in the report, and what every report keeps
mod explore_input; // what `explore` and its neighbours cannot use, and whose turn it is then
mod explore_kit; // no tests: small pages that write down every request, and an exploration of them
mod explore_seen; // what a look holds: inner scroll boxes, late pages, long lists; the journal
mod explore_ways; // how elements are used: gestures by their listeners, options of lists
mod export; // specs and recordings of bugs, played by Playwright and by Chrome's own replay library
mod export_flow; // flows as specs, played by Playwright
mod flow; // goal steps in a browser: recorded, replayed without a model, handed off, recorded anew
mod flow_custom; // a store of the caller's in place of the project's files
mod flow_drift; // the drift laboratory: what replays, what is handed off, and that nothing wrong is ever pressed
mod flow_end; // what proves the end of a replay: already there, late, elsewhere, not readable
mod flow_kit; // no tests: an application whose pages drift, and an agent that reads its moves from the goal
mod flow_live; // the script of the live check, against a model server of the tests
mod flow_mcp; // an MCP client finishes the hand-off of a flow
mod flow_runs; // what a run of flows leaves: its run file, the bugs that were met
mod flow_stops; // where a replay stops in its middle: sent once more, or given up
mod flow_store; // which recording a step gets, what becomes of it, what is said of it
mod flow_targets; // how a replay finds what it acts on, and where it stops
mod heal; // `heal`: the loop and its money, with a test command that is a script
mod heal_check; // `heal --check`: the guard alone
mod heal_corpus; // a corpus of failing specs with real Playwright: what is repaired, and what must not be
mod heal_journal; // `heal` killed, interrupted, doubled, overtaken by an edit
mod heal_kit; // no tests: a project whose test command is a script that answers with a report
mod heal_locator; // a target that is not found is asked of a model, judged, marked and proposed; `verify --heal`, `rerun --heal`
mod heal_report; // `heal`: what the report of a run tells, and where a failing test's page stands
mod heal_vrt; // `heal` and `vrt review` on screenshots, with a model server
mod house; // the map of the rooms, and that none imports upward
mod minimise; // the steps that a bug needs, found by replays in a browser
mod minimise_lab; // no tests: an application whose bug needs certain steps
mod model_kit; // no tests: a model server that speaks the providers' shapes and answers from a script
mod named_files; // files that the caller names and that cannot be read
mod plan; // the plan of a run without a trace, played by a model
mod readme; // commands and links of the Markdown files
mod report; // the HTML report in a real browser
mod route_map; // the route map's example, discovery from a list, selection
mod run; // whole campaigns: run, interrupted, killed, resumed, reported
mod sandbox;
mod schema; // the list of formats, `schemas/`, and `agent-test schema`
mod sessions; // fresh sessions in one running browser: apart from each other, and gone when they end
mod skills; // the skills' form, and every command in them
mod state_clock; // leases, though somebody sets the clock
mod state_crash; // a fault at every system call of a transition: killed, interrupted, refused, disk full
mod state_files; // state files that agents and accidents leave behind
mod state_history; // `log`, `undo`, and a history that never stops a transition
mod state_older; // an older state that was brought back, and one that is gone
mod state_races; // many processes of every kind at once, and every pair of commands
mod state_sharing; // many processes on one state, killed processes, failing disks
mod state_strangers; // what stands in place of a state, and what agents hand in
mod state_worktrees; // linked git worktrees: one campaign for all of them
mod trace_locators; // how a recorded target is found again, and when it is not pressed
mod trace_steps; // every kind of trace step, played from run files
mod verify; // verdicts over the bugs of a run: verify, rerun, diff, fingerprint, in a browser
mod verify_kit; // no tests: an application that can be made to behave otherwise, and a run recorded on it
