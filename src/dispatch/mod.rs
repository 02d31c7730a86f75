//! Dispatch: one fresh subagent per route, born, one job, gone. The subagent is the built-in explorer.

mod run_log;
mod workshop;

pub use run_log::{RunLog, keep_run};
pub use workshop::{DispatchError, Workshop, WorkshopOptions};
