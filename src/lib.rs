//! `agent-test`: tests a web application's user interface with coding agents.
//!
//! This page is the map of the house. A room imports only rooms below it.
//!
//! | floor | room | owns |
//! | --- | --- | --- |
//! | 6 | [`cli`] | one file per command: arguments in, one call, text or `--json` out |
//! | top | [`schema`] | the list of every file format and message, and its JSON Schema |
//! | 3 | [`report`] | bug reports and FINAL-REPORT (Markdown, HTML maze map), JUnit |
//! | 1 | [`maze`] | the route report with its action tree |
//! | 1 | [`trace`] | trace step, locator, run file, fingerprints |
//! | 0 | [`store`] | the clock; the one door to the disk |
//! | 0 | [`event`] | what happens in a campaign, as values |
//! | 0 | [`ui`], [`env`], [`exit`] | the one printer; environment variables; exit codes |

#![doc(test(attr(deny(warnings))))]

pub mod cli;
pub mod env;
pub mod event;
pub mod exit;
pub mod maze;
pub mod report;
pub mod schema;
pub mod store;
pub mod trace;
pub mod ui;
