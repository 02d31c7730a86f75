//! Why bugs could not be verified.

use std::path::PathBuf;

use crate::browser::SessionError;
use crate::exit::{Exit, Explain};
use crate::llm::LlmError;
use crate::replay::EnterError;
use crate::store::StoreError;

/// Why bugs could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// There is no run to read.
    #[error("there is no run to read: {place}")]
    NoRun {
        /// Where it was looked for.
        place: String,
    },
    /// A run file does not fit.
    #[error("cannot read the run `{}`: {problem}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// A run of a later format.
    #[error("the run `{}` has format version {version}, this program reads up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
        /// Ours.
        known: u32,
    },
    /// No bug has this fingerprint.
    #[error("the run {run} holds no bug with the fingerprint `{key}`")]
    UnknownBug {
        /// What was asked for.
        key: String,
        /// The run.
        run: String,
    },
    /// Several bugs begin with this.
    #[error("`{key}` is the beginning of several fingerprints in the run {run}: {}", known.join(", "))]
    AmbiguousBug {
        /// What was asked for.
        key: String,
        /// The run.
        run: String,
        /// The fingerprints.
        known: Vec<String>,
    },
    /// A run without traces needs a model, and none is configured.
    #[error("the run {0} holds no trace; its plan can only be played by a model, and none is configured")]
    NoTrace(String),
    /// A run without traces that holds no plan either.
    #[error("the run {0} holds neither a trace nor a plan, so there is nothing to play")]
    NoPlan(String),
    /// The model.
    #[error(transparent)]
    Model(#[from] LlmError),
    /// Not a single step could be played.
    #[error("nothing of the run {run} could be played: {why}")]
    NothingPlayed {
        /// The run.
        run: String,
        /// What the first flow said.
        why: String,
    },
    /// No address to test.
    #[error("the run {0} names no address of the application")]
    NoBase(String),
    /// The browser.
    #[error(transparent)]
    Enter(#[from] EnterError),
    /// The browser gave no session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The disk.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Explain for VerifyError {
    fn exit(&self) -> Exit {
        match self {
            Self::Enter(error) => error.exit(),
            Self::Session(error) => error.exit(),
            Self::Store(error) => error.exit(),
            Self::Model(error) => error.exit(),
            Self::NothingPlayed { .. } => Exit::Engine,
            _ => Exit::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NoRun { .. } => {
                Some("`agent-test explore` and `agent-test run` leave runs; name one by its id or its path".to_owned())
            }
            Self::Unreadable { .. } => Some("name another run by its id or its path".to_owned()),
            Self::Newer { .. } => Some("update agent-test".to_owned()),
            Self::UnknownBug { .. } => Some("`agent-test fingerprint list` shows the bugs of a run".to_owned()),
            Self::AmbiguousBug { .. } => Some("give more digits".to_owned()),
            Self::NoTrace(_) => Some(format!(
                "explore the application again: every run since then leaves traces; or name a model with --model or in {}",
                crate::env::MODEL
            )),
            Self::NoPlan(_) => Some("explore the application again: every run since then leaves traces".to_owned()),
            Self::Model(error) => error.hint(),
            Self::NothingPlayed { .. } => Some("is the application running, and is the base URL right?".to_owned()),
            Self::NoBase(_) => Some("name it with --base-url".to_owned()),
            Self::Enter(error) => error.hint(),
            Self::Session(error) => error.hint(),
            Self::Store(error) => error.hint(),
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::NoRun { .. } => "no_run",
            Self::Unreadable { .. } => "bad_run",
            Self::Newer { .. } => "newer_run",
            Self::UnknownBug { .. } => "unknown_fingerprint",
            Self::AmbiguousBug { .. } => "ambiguous_fingerprint",
            Self::NoTrace(_) => "no_trace",
            Self::NoPlan(_) => "no_plan",
            Self::Model(error) => error.code(),
            Self::NothingPlayed { .. } => "nothing_played",
            Self::NoBase(_) => "no_base_url",
            Self::Enter(error) => error.code(),
            Self::Session(error) => error.code(),
            Self::Store(error) => error.code(),
        }
    }
}
