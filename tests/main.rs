//! One binary of tests that start the built program. One module per feature; each line says what belongs there.

/// The HTML report in a real browser.
mod report;
mod sandbox;
/// The list of formats, `schemas/`, and `agent-test schema`.
mod schema;
