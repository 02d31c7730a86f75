//! Exports a bug, or a flow, as a test that stands alone: a Playwright spec that carries the oracles, or a recording that Chrome's
//! `DevTools` and `@puppeteer/replay` play.
//!
//! Why the oracles go along: a click that "succeeds" on a page which answers 500 proves nothing. The spec judges its last
//! step by the rules of [`crate::replay`], says which of the three it is (`bug:`, `changed:`, `not reached:`), and ends
//! green only when the failing step was done and nothing was wrong.
//!
//! Invariants
//! * What comes from a page is data: a string literal or a line behind `//`, never code.
//! * No secret stands in a file: a value is a name of an environment variable, read when the spec runs.
//! * A file of another content is never replaced unless the caller says so; one of the same content is left.
//! * What cannot be expressed is left out and told with the reason, never approximated in silence.

mod assemble;
mod check;
mod error;
mod flow;
mod flow_found;
mod place;
mod playwright;
mod recorder;
mod steps;
mod text;
mod write;

pub use assemble::{Exported, Format, LeftOut, export};
pub use error::{ExportError, Refusal};
pub use flow::{FlowSpec, FlowTerms, Flows, Missing, flow_specs};
pub use playwright::spec;
pub use recorder::{Recording, recording};
pub use steps::{Terms, file_stem};
pub use write::{Document, Written, write};
