//! One binary of tests that start the built program. One module per feature; each line says what belongs there.

mod sandbox;
/// The list of formats, `schemas/`, and `agent-test schema`.
mod schema;
