//! Why a bug, or all of them, could not be exported.

use std::path::PathBuf;

use crate::exit::{Exit, Explain};
use crate::flow::FlowError;
use crate::store::StoreError;

/// Why one bug is left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(String);

impl Refusal {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// No bug of the run can be exported.
    #[error("nothing of the run {run} can be exported: {why}")]
    Nothing {
        /// The run.
        run: String,
        /// What stands in the way of the first bug.
        why: String,
    },
    /// No flow can be exported.
    #[error("nothing of the flows can be exported: {}", missing.join("; "))]
    NoFlow {
        /// The steps that stand in the way, for people.
        missing: Vec<String>,
    },
    /// Files of other content stand in the way.
    #[error("cannot write over what has other content: {}", paths.iter().map(|path| format!("`{}`", path.display())).collect::<Vec<_>>().join(", "))]
    InTheWay {
        /// The files.
        paths: Vec<PathBuf>,
    },
    /// The flows, or their recordings.
    #[error(transparent)]
    Flow(#[from] FlowError),
    /// The disk.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Explain for ExportError {
    fn exit(&self) -> Exit {
        match self {
            Self::Nothing { .. } | Self::NoFlow { .. } | Self::InTheWay { .. } => Exit::Usage,
            Self::Flow(error) => error.exit(),
            Self::Store(error) => error.exit(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Nothing { .. } => Some("`agent-test explore` leaves runs whose bugs carry their traces".to_owned()),
            Self::NoFlow { .. } => {
                Some("`agent-test flow` records goal steps; what a model judges can be written as `expect`".to_owned())
            }
            Self::InTheWay { .. } => {
                Some("name another directory with --out, or give --force to write over them".to_owned())
            }
            Self::Flow(error) => error.hint(),
            Self::Store(error) => error.hint(),
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Nothing { .. } | Self::NoFlow { .. } => "nothing_to_export",
            Self::InTheWay { .. } => "file_exists",
            Self::Flow(error) => error.code(),
            Self::Store(error) => error.code(),
        }
    }
}
