//! One binary of tests that start the built program. One module per feature; each line says what belongs there.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on says so by panicking")]

mod demo; // the demo application: switches, ledger, manifest, and a browser over its pages
mod doctor; // what is missing on a machine, and what to do about it
mod driver; // the driver process: found, started, and dead with its browsers however its owner ends
mod report; // the HTML report in a real browser
mod sandbox;
mod schema; // the list of formats, `schemas/`, and `agent-test schema`
