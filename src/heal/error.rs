//! Why a test could not be healed at all. A verdict is no error.

use std::path::PathBuf;

use crate::exit::{Exit, Explain};
use crate::llm::LlmError;
use crate::store::StoreError;

/// Why a test could not be healed at all.
#[derive(Debug, thiserror::Error)]
pub enum HealError {
    /// The test file cannot be used.
    #[error("cannot heal `{}`: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// The test command cannot be used.
    #[error("cannot run the test command: {0}")]
    Command(String),
    /// The command ran, and no report came.
    #[error("the test command ended without a report of Playwright: {0}")]
    NoReport(String),
    /// Another heal works on the file.
    #[error("another heal works on `{}`", .0.display())]
    Busy(PathBuf),
    /// The disk.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The model cannot be asked.
    #[error(transparent)]
    Model(#[from] LlmError),
    /// A signal came; everything was put back.
    #[error("stopped by a signal; everything was put back")]
    Stopped,
    /// An image cannot be read.
    #[error("cannot compare the image `{}`: {problem}", path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// The options do not fit.
    #[error("{0}")]
    Options(String),
}

impl Explain for HealError {
    fn exit(&self) -> Exit {
        match self {
            Self::Store(error) => error.exit(),
            Self::Model(error) => error.exit(),
            Self::Stopped => Exit::Engine,
            _ => Exit::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Model(error) => error.hint(),
            Self::Command(_) => {
                Some("give it behind `--`, as you would type it: `-- npx playwright test tests/a.spec.ts`".to_owned())
            }
            Self::NoReport(_) => {
                Some("the command must run Playwright Test, and pass its environment on to it".to_owned())
            }
            Self::Busy(_) => Some("wait for its end".to_owned()),
            Self::File { .. } => Some("name a test file below the working directory".to_owned()),
            Self::Image { .. } => Some("name PNG files".to_owned()),
            Self::Options(text) if text.starts_with("cannot compare with") => Some(
                "run it in a git checkout and name a commit that it has, or name two files: before and after".into(),
            ),
            Self::Stopped | Self::Options(_) => None,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "bad_test_file",
            Self::Command(_) => "bad_test_command",
            Self::NoReport(_) => "no_report",
            Self::Busy(_) => "heal_busy",
            Self::Store(error) => error.code(),
            Self::Model(error) => error.code(),
            Self::Stopped => "stopped",
            Self::Image { .. } => "bad_image",
            Self::Options(_) => "bad_argument",
        }
    }
}
