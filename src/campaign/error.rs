//! Why a campaign cannot go on.

use crate::dispatch::DispatchError;
use crate::exit::{Exit, Explain};
use crate::report::ReportError;
use crate::state::StateError;
use crate::store::StoreError;

/// Why a campaign cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// The state.
    #[error(transparent)]
    State(#[from] StateError),
    /// The browser, or the disk under an exploration.
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
    /// A report could not be rendered.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// A report could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The browser driver died again and again.
    #[error("the browser driver died {times} times in this run")]
    Driver {
        /// How often.
        times: usize,
    },
    /// A worker of the run itself failed.
    #[error("a worker of this run failed: {0}")]
    Worker(String),
}

impl Explain for CampaignError {
    fn exit(&self) -> Exit {
        match self {
            Self::State(error) => error.exit(),
            Self::Dispatch(error) => error.exit(),
            Self::Report(error) => error.exit(),
            Self::Store(error) => error.exit(),
            Self::Driver { .. } | Self::Worker(_) => Exit::Engine,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::State(error) => error.hint(),
            Self::Dispatch(error) => error.hint(),
            Self::Report(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Driver { .. } => {
                Some("`agent-test doctor` checks the browser; fewer --workers need less memory".to_owned())
            }
            Self::Worker(_) => {
                Some("`agent-test resume` goes on; please report this as a fault of agent-test".to_owned())
            }
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::State(error) => error.code(),
            Self::Dispatch(error) => error.code(),
            Self::Report(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Driver { .. } => "driver_died",
            Self::Worker(_) => "worker_failed",
        }
    }
}
