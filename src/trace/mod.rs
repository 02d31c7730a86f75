//! Traces: the step, its locator, the run file, and the fingerprints of bugs.
//!
//! A trace step is one action with what came of it. Everything that the program knows about a page it learned by a
//! step; every engine writes and reads the same step.

mod address;
pub mod bounds;
pub mod fingerprint;
mod run_file;
mod step;

pub use address::page_key;
pub use fingerprint::FingerprintParts;
pub use run_file::{Flow, NodePath, PlannedStep, RunFile, RunSettings};
pub use step::{DialogAnswer, Locator, StepRequest, StepStatus, Tool, TraceStep};
