//! What is wrong with a setting.

use std::path::PathBuf;

use crate::exit::{Exit, Explain};
use crate::store::StoreError;

/// What is wrong with a setting.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The configuration file could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The configuration file does not fit.
    #[error("cannot read `{}`: {reason}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// Where and why.
        reason: String,
    },
    /// A variable of the environment does not fit.
    #[error("the environment variable {name} is `{value}`, expected {expected}")]
    Variable {
        /// Its name.
        name: &'static str,
        /// What it holds.
        value: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// A setting holds something that it must not.
    #[error("{} `{name}` {reason}", if name.starts_with("--") { "the flag" } else { "the setting" })]
    Bad {
        /// Which.
        name: &'static str,
        /// Why.
        reason: String,
    },
}

impl Explain for SettingsError {
    fn exit(&self) -> Exit {
        match self {
            Self::Store(error) => error.exit(),
            _ => Exit::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Config { .. } => {
                Some("correct the file; keys are those of the campaign's settings, plus base_url and project".into())
            }
            Self::Variable { .. } => Some("correct or unset the variable".into()),
            Self::Bad { name: "base_url", .. } => Some(format!(
                "write it as http://host:port: with --base-url, in {}, or as base_url in agent-test.toml",
                crate::env::BASE_URL
            )),
            Self::Bad { name, .. } if name.starts_with("--") => Some("write it as http://host:port".into()),
            Self::Bad { .. } => Some(
                "correct it where it is set: a flag, a variable, agent-test.toml or the campaign's settings".into(),
            ),
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Config { .. } => "bad_config",
            Self::Variable { .. } => "bad_variable",
            Self::Bad { .. } => "bad_setting",
        }
    }
}
