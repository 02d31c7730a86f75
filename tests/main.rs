//! One binary of tests that start the built program. One module per feature; each line says what belongs there.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by a panic")]

/// The HTML report in a real browser.
mod report;
mod sandbox;
/// The list of formats, `schemas/`, and `agent-test schema`.
mod schema;
