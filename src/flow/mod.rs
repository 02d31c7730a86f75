//! Goal steps that replay without a model and heal themselves.
mod error;
mod file;
mod params;
pub mod recording;

pub use error::FlowError;
pub use file::{Does, Expect, Extract, Flow, FlowFile, Heal, Step, StepFile, parse};
pub use params::{Param, Secrets, Values, placeholders};
