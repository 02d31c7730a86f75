//! What can go wrong while a report is written.

use crate::exit::{Exit, Explain};

/// A report could not be rendered.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The JUnit document could not be written.
    #[error("cannot write the JUnit report of campaign `{project}`")]
    Junit {
        /// The campaign's project.
        project: String,
        /// Why.
        source: quick_junit::SerializeError,
    },
}

impl Explain for ReportError {
    fn exit(&self) -> Exit {
        Exit::Engine
    }

    fn hint(&self) -> Option<String> {
        Some(
            "the Markdown and HTML reports do not depend on it; please report this as a fault of agent-test".to_owned(),
        )
    }

    fn code(&self) -> &'static str {
        "junit_not_written"
    }
}
