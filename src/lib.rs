//! `agent-test`: tests a web application's user interface with coding agents.
//!
//! This page is the map of the house. A room imports only rooms below it.
//!
//! | floor | room | owns |
//! | --- | --- | --- |
//! | 6 | [`cli`] | one file per command: arguments in, one call, text or `--json` out |
//! | 1 | [`maze`] | the route report with its action tree |
//! | 1 | [`state`] | `.monkey-test-state.json`: its types, transitions, invariants, recovery |
//! | 1 | [`trace`] | trace step, locator, run file, fingerprints |
//! | 1 | [`route`] | Route, slug, ROUTE_MAP.md, selection |
//! | 1 | [`settings`] | what can be set, where from, and which source wins |
//! | 0 | [`store`] | the one door to the disk: atomic writes, the lock between processes; clock and ids |
//! | 0 | [`event`] | what happens in a campaign, as values |
//! | 0 | [`ui`], [`mod@env`], [`exit`] | the one printer; environment variables; exit codes |

#![doc(test(attr(deny(warnings))))]

pub mod cli;
pub mod env;
pub mod event;
pub mod exit;
pub mod maze;
pub mod route;
pub mod settings;
pub mod state;
pub mod store;
pub mod trace;
pub mod ui;
