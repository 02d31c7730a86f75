//! Why flows cannot be run.

use super::recording::ShelfError;
use crate::exit::{Exit, Explain};
use crate::replay::StageError;
use crate::store::StoreError;

/// Why flows cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// A flow file does not fit.
    #[error("{file}:{line}:{column}: {problem}")]
    File {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Column, from 1.
        column: u64,
        /// What does not fit, and what was expected.
        problem: String,
    },
    /// No flow file was found.
    #[error("`{0}` holds no flow")]
    NoFlow(String),
    /// A parameter that the flow does not have.
    #[error("the flow {flow} has no parameter `{name}`")]
    NoParam {
        /// The flow.
        flow: String,
        /// The name.
        name: String,
    },
    /// A secret that is not set.
    #[error("the flow {flow} needs the secret {name}, and the environment variable {variable} is not set")]
    NoSecret {
        /// The flow.
        flow: String,
        /// The secret's name.
        name: String,
        /// Where it is looked for.
        variable: String,
    },
    /// The application could not be entered.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// A file.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store of recordings.
    #[error(transparent)]
    Shelf(#[from] ShelfError),
    /// A key that names no recording, or several.
    #[error("{0}")]
    Key(String),
}

impl Explain for FlowError {
    fn exit(&self) -> Exit {
        match self {
            Self::Stage(_) => Exit::Engine,
            Self::Store(error) => error.exit(),
            Self::Shelf(error) => error.exit(),
            _ => Exit::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::File { .. } => Some("`agent-test schema flow` prints what a flow file may hold".to_owned()),
            Self::NoFlow(_) => Some("name YAML files, or a directory with some".to_owned()),
            Self::NoParam { .. } => Some("add it below `params` in the flow file".to_owned()),
            Self::NoSecret { variable, .. } => {
                Some(format!("set {variable}; a secret is read from the environment only"))
            }
            Self::Stage(_) => None,
            Self::Store(error) => error.hint(),
            Self::Shelf(error) => error.hint(),
            Self::Key(_) => Some("`agent-test cache ls` lists the recordings".to_owned()),
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "bad_flow",
            Self::NoFlow(_) => "no_flow",
            Self::NoParam { .. } => "no_param",
            Self::NoSecret { .. } => "no_secret",
            Self::Stage(_) => "no_stage",
            Self::Store(error) => error.code(),
            Self::Shelf(error) => error.code(),
            Self::Key(_) => "no_recording",
        }
    }
}
